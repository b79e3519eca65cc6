/** A set of the texts that were added last, up to a limit. */
export class RecentSet {
  readonly #limit: number;
  readonly #texts = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(text: string): void {
    this.#texts.delete(text);
    this.#texts.add(text);
    for (const oldest of this.#texts) {
      if (this.#texts.size <= this.#limit) return;
      this.#texts.delete(oldest);
    }
  }

  has(text: string): boolean {
    return this.#texts.has(text);
  }
}
