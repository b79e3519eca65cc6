import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

/** What is searched for on the page, in lower case; empty: nothing. */
export const SearchText = createContext('');

/** A text in which what is searched for is marked. */
export function Marked({ text }: { readonly text: string }) {
  const searched = useContext(SearchText);
  if (searched === '' || !text.toLowerCase().includes(searched)) return <>{text}</>;
  return (
    <>{splitByText(text, searched).map((part, index) => (index % 2 === 0 ? part : <mark key={index}>{part}</mark>))}</>
  );
}

/** Odd members are what was searched for, as it is written. */
export function splitByText(text: string, searched: string): readonly string[] {
  const lower = text.toLowerCase();
  // Letters whose small form is longer would shift the places: then nothing is marked.
  if (searched === '' || lower.length !== text.length) return [text];
  const parts: string[] = [];
  let from = 0;
  for (let at = lower.indexOf(searched); at !== -1; at = lower.indexOf(searched, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + searched.length));
    from = at + searched.length;
  }
  return [...parts, text.slice(from)];
}

/** True where folded content has to be shown, because what is searched for is in it. */
export function useIsFound(text: () => string): boolean {
  const searched = useContext(SearchText);
  return searched !== '' && text().toLowerCase().includes(searched);
}
