/** Tells every listener about a change, at once and in order. */
export class Changes<Change> {
  readonly #listeners = new Set<(change: Change) => void>();

  /** Calls `listener` for every change from now on. Returns a function that unsubscribes it. */
  on(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  emit(change: Change): void {
    for (const listener of [...this.#listeners]) listener(change);
  }
}
