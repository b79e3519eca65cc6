export interface RequestOptions {
  readonly signal?: AbortSignal;
}

export function toQuery(values: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** Every item of a list, page by page. */
export async function* everyItem<Query extends { readonly cursor?: string }, Item>(
  query: Query,
  list: (page: Query) => Promise<{ readonly data: readonly Item[]; readonly next_cursor: string | null }>,
): AsyncGenerator<Item, void> {
  for (let cursor = query.cursor; ; ) {
    const page = await list({ ...query, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.data;
    if (page.next_cursor === null) return;
    cursor = page.next_cursor;
  }
}
