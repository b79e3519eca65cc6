/** Contract section 3: what a page of a list holds. What JSON has around its entries is within the margin. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024 - 64 * 1024;
/** Bytes of each entry beside its stored text: a comma, and an address that is written anew. */
const ENTRY_OVERHEAD_BYTES = 256;

/** Counts the entries of one page of a list: the first fits always, so that a list goes on. */
export class PageBudget {
  #left = MAX_PAGE_BYTES;
  #isEmpty = true;

  /** @returns false where the page ends before an entry of this size. */
  takes(bytes: number): boolean {
    const hasRoom = this.#isEmpty || bytes + ENTRY_OVERHEAD_BYTES <= this.#left;
    this.#isEmpty = false;
    if (hasRoom) this.#left -= bytes + ENTRY_OVERHEAD_BYTES;
    return hasRoom;
  }
}

/** The entries at the beginning that fit into one page. */
export function fitting<Entry>(entries: readonly Entry[], sizeOf: (entry: Entry) => number): readonly Entry[] {
  const budget = new PageBudget();
  const end = entries.findIndex((entry) => !budget.takes(sizeOf(entry)));
  return end < 0 ? entries : entries.slice(0, end);
}

/** Bytes of a value as JSON. */
export function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
