import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { splitByText } from './split-text.ts';

/** Search text of the page, in lower case; empty: no search. */
export const SearchText = createContext('');

/** A text with marks on the searched text. */
export function Marked({ text }: { readonly text: string }) {
  const searched = useContext(SearchText);
  if (searched === '' || !text.toLowerCase().includes(searched)) return <>{text}</>;
  return (
    <>{splitByText(text, searched).map((part, index) => (index % 2 === 0 ? part : <mark key={index}>{part}</mark>))}</>
  );
}

/** True if folded content contains the searched text and has to be shown. */
export function useIsFound(text: () => string): boolean {
  const searched = useContext(SearchText);
  return searched !== '' && text().toLowerCase().includes(searched);
}
