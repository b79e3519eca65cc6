import type { ModelDelta } from '../../models/gateway/chat-model.ts';

/** Streamed text of a model. It is not stored, since the event of the whole response contains it. */
export interface LiveDelta extends ModelDelta {
  readonly attempt: number;
}

/** Passes deltas from the worker of this process to watchers. Runs of other processes have no deltas here. */
export class LiveDeltas {
  readonly #listeners = new Map<string, Set<(delta: LiveDelta) => void>>();

  publish(traceId: string, delta: LiveDelta): void {
    for (const listener of this.#listeners.get(traceId) ?? []) listener(delta);
  }

  /** @returns a function that unsubscribes. */
  subscribe(traceId: string, listener: (delta: LiveDelta) => void): () => void {
    const listeners = this.#listeners.get(traceId) ?? new Set();
    this.#listeners.set(traceId, listeners);
    // A new function each time, since one listener may subscribe twice.
    const own = (delta: LiveDelta) => listener(delta);
    listeners.add(own);
    return () => {
      listeners.delete(own);
      if (listeners.size === 0 && this.#listeners.get(traceId) === listeners) this.#listeners.delete(traceId);
    };
  }
}
