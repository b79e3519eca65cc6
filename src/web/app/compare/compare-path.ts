/** Most columns that are readable side by side. */
export const MOST_COMPARED = 4;

/** Address of a comparison. The others are compared with the first trace. */
export function comparePath(traceIds: readonly string[]): string {
  return `/compare?traces=${traceIds.join(',')}`;
}

/** Trace ids in an address, without duplicates and invalid ids. */
export function toTraceIds(text: string | null): readonly string[] {
  return [...new Set((text ?? '').split(',').filter((id) => /^[0-9a-f]{32}$/.test(id)))];
}
