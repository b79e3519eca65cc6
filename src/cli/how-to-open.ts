/** What to type to see these traces, where no server may be running. */
export function howToOpen(traceIds: readonly string[]): string {
  const [first] = traceIds;
  const open = `npx proctor open${traceIds.length === 1 ? ` ${first}` : ''}`;
  return `To see what happened: ${open}, while npx proctor serve is up in another terminal`;
}
