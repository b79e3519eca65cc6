import type { Database } from '../../store/database/database.ts';
import { SignsOfLife } from '../../store/database/row-lease.ts';
import { GONE_AFTER_MS } from '../../support/runtime/periods.ts';
import { countAsSpent, type OpenReservation, openReservations } from './abandoned-reservations.ts';

/**
 * Finds reservations of dead workers. Without it, calls could wait forever for a budget that a dead worker holds.
 */
export class AbandonedWatch {
  readonly #database: Database;
  readonly #goneMs: number;
  /** Evaluations with waiting calls. */
  readonly #watched = new Map<string, { readonly signs: SignsOfLife; lookedAt: number }>();

  constructor(database: Database, goneMs: number = GONE_AFTER_MS.reservation) {
    this.#database = database;
    this.#goneMs = goneMs;
  }

  /** Counts the reservations of dead workers as spent. Called repeatedly while calls wait. */
  async look(evaluationId: string): Promise<void> {
    const open = await openReservations(this.#database.kysely, evaluationId);
    const lookedAt = performance.now();
    const { signs } = this.#watched.get(evaluationId) ?? { signs: new SignsOfLife(this.#goneMs) };
    this.#watched.set(evaluationId, { signs, lookedAt });
    for (const [id, watched] of this.#watched) {
      if (lookedAt - watched.lookedAt > this.#goneMs) this.#watched.delete(id);
    }
    const gone = signs.see(open.map(({ reservation_id: id, beat }) => [id, beat]));
    if (gone.size === 0) return;
    // A reservation that was renewed before the transaction is alive.
    const isGone = ({ reservation_id: id, beat }: OpenReservation) => gone.get(id) === beat;
    await this.#database.transaction((transaction) => countAsSpent(transaction, evaluationId, isGone));
  }
}
