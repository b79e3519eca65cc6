import type { Loss } from '../../contract/service/import.ts';

/** Counts the losses of writing or reading files by field. Its size depends on the number of fields, not of traces. */
export class Losses {
  readonly #counts = new Map<string, Map<string, number>>();
  #others = 0;

  /** @param field a path without indices: two places of one field are one entry with the count 2. */
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

  /** The losses, sorted by field. */
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

/** Limit of fields, because foreign files may have any number of unknown ones. */
const MAX_FIELDS = 500;
