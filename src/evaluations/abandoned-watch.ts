import type { Database } from '../database/database.ts';
import { countAsSpent, type OpenReservation, openReservations } from './abandoned-reservations.ts';

/** Milliseconds without a sign of life after which a reservation is that of a dead worker. */
const GONE_MS = 30_000;

/**
 * Finds reservations of dead workers, for which others would wait for ever where the dead one's runs wait for places that
 * those hold. By their signs of life, not by a clock: those of two machines differ, and any may jump.
 */
export class AbandonedWatch {
  readonly #database: Database;
  readonly #goneMs: number;
  /** By evaluation, those that somebody waits for. */
  readonly #watched = new Map<string, Watched>();

  constructor(database: Database, goneMs: number = GONE_MS) {
    this.#database = database;
    this.#goneMs = goneMs;
  }

  /** Counts as spent what the dead have reserved. To be called again and again while somebody waits. */
  async look(evaluationId: string): Promise<void> {
    const open = await openReservations(this.#database.kysely, evaluationId);
    const at = performance.now();
    const before = this.#watched.get(evaluationId)?.heard;
    const heard = new Map(
      open.map(({ reservation_id: id, beat }) => {
        const last = before?.get(id);
        return [id, last?.beat === beat ? last : { beat, at }];
      }),
    );
    this.#watched.set(evaluationId, { at, heard });
    for (const [id, watched] of this.#watched) if (at - watched.at > this.#goneMs) this.#watched.delete(id);
    const isGone = ({ reservation_id: id, beat }: OpenReservation) => {
      const last = heard.get(id);
      return last !== undefined && last.beat === beat && at - last.at >= this.#goneMs;
    };
    if (!open.some(isGone)) return;
    await this.#database.transaction((transaction) => countAsSpent(transaction, evaluationId, isGone));
  }
}

interface Watched {
  /** When it was looked at last, by `performance.now()`. */
  readonly at: number;
  readonly heard: ReadonlyMap<string, { readonly beat: number; readonly at: number }>;
}
