import type { ModelDelta } from '../model/chat-model.ts';

/** Text of a model as it streams. It is not stored: the event of the whole response has it. */
export interface LiveDelta extends ModelDelta {
  readonly attempt: number;
}

/** From the worker of this process to those who watch its runs. Runs of other processes are not heard of here. */
export class LiveDeltas {
  readonly #listeners = new Map<string, Set<(delta: LiveDelta) => void>>();

  publish(traceId: string, delta: LiveDelta): void {
    for (const listener of this.#listeners.get(traceId) ?? []) listener(delta);
  }

  /** @returns the way to stop. */
  subscribe(traceId: string, listener: (delta: LiveDelta) => void): () => void {
    const listeners = this.#listeners.get(traceId) ?? new Set();
    this.#listeners.set(traceId, listeners);
    const own = (delta: LiveDelta) => listener(delta); // one function may listen twice
    listeners.add(own);
    return () => {
      listeners.delete(own);
      if (listeners.size === 0 && this.#listeners.get(traceId) === listeners) this.#listeners.delete(traceId);
    };
  }
}
