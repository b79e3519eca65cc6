/** What to type to see these traces, where no server may be running. */
export function howToOpen(traceIds: readonly string[]): string {
  const [first] = traceIds;
  return `To see what happened: npx proctor serve, and in another terminal npx proctor open${traceIds.length === 1 ? ` ${first}` : ''}`;
}
