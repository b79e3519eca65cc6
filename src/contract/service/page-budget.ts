/** Largest size of a list page, in bytes (contract section 3). The 64 KiB margin is for the JSON around the entries. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024 - 64 * 1024;
/** Bytes of each entry beside its stored text: a comma, and an address that is written anew. */
const ENTRY_OVERHEAD_BYTES = 256;

/** Counts the bytes of one page of a list. The first entry always fits, so that a list never gets stuck. */
export class PageBudget {
  #left = MAX_PAGE_BYTES;
  #isEmpty = true;

  /** @returns false when an entry of this size no longer fits the page. */
  takes(bytes: number): boolean {
    const hasRoom = this.#isEmpty || bytes + ENTRY_OVERHEAD_BYTES <= this.#left;
    this.#isEmpty = false;
    if (hasRoom) this.#left -= bytes + ENTRY_OVERHEAD_BYTES;
    return hasRoom;
  }
}

/** The leading entries that fit into one page. */
export function fitting<Entry>(entries: readonly Entry[], sizeOf: (entry: Entry) => number): readonly Entry[] {
  const budget = new PageBudget();
  const end = entries.findIndex((entry) => !budget.takes(sizeOf(entry)));
  return end < 0 ? entries : entries.slice(0, end);
}

/** Bytes of a value as JSON. */
export function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
