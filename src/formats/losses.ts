/** A field that a format could not hold. */
export interface Loss {
  /** Path in the trace (or, of an import, in the file): names joined by dots, `[]` for the items of a list. */
  readonly field: string;
  /** In how many places. */
  readonly count: number;
  readonly why: string;
}

/** Counts what writing or reading files has lost, field by field. Its size is bounded by the fields, not by the traces. */
export class Losses {
  readonly #counts = new Map<string, Map<string, number>>();
  #others = 0;

  /** @param field is a path without indices: two places of one field are one entry with the count 2. */
  add(field: string, why: string, count = 1): void {
    if (count <= 0) return;
    const reasons = this.#counts.get(field);
    if (reasons !== undefined) reasons.set(why, (reasons.get(why) ?? 0) + count);
    else if (this.#counts.size < MAX_FIELDS) this.#counts.set(field, new Map([[why, count]]));
    else this.#others += count;
  }

  addAll(losses: Losses): void {
    for (const { field, why, count } of losses.toList()) this.add(field, why, count);
  }

  /** By field. */
  toList(): Loss[] {
    const all = [...this.#counts].flatMap(([field, reasons]) =>
      [...reasons].map(([why, count]) => ({ field, count, why })),
    );
    const listed = all.sort((one, other) => (one.field < other.field ? -1 : 1));
    return this.#others === 0
      ? listed
      : [...listed, { field: '…', count: this.#others, why: `more than ${MAX_FIELDS} fields were lost` }];
  }
}

/** Names of unknown fields come from files of others. */
const MAX_FIELDS = 500;
