/** Splits a text at the matches. Members with an odd index are the matches. */
export function splitByText(text: string, searched: string): readonly string[] {
  const lower = text.toLowerCase();
  // Some letters get longer in lower case, which would shift positions: then nothing is marked.
  if (searched === '' || lower.length !== text.length) return [text];
  const parts: string[] = [];
  let from = 0;
  for (let at = lower.indexOf(searched); at !== -1; at = lower.indexOf(searched, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + searched.length));
    from = at + searched.length;
  }
  return [...parts, text.slice(from)];
}
