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
