/** Columns that can be read side by side. */
export const MOST_COMPARED = 4;

/** The address of a comparison; the first trace is what the others are compared with. */
export function comparePath(traceIds: readonly string[]): string {
  return `/compare?traces=${traceIds.join(',')}`;
}

/** The traces that an address names: each once, and nothing that is no id of a trace. */
export function toTraceIds(text: string | null): readonly string[] {
  return [...new Set((text ?? '').split(',').filter((id) => /^[0-9a-f]{32}$/.test(id)))];
}
