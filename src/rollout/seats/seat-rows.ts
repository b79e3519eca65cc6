import type { Logger } from 'pino';
import type { Database, DatabaseTransaction } from '../../store/database/database.ts';
import { RowLease } from '../../store/database/row-lease.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import type { Loop } from '../../support/runtime/loop.ts';
import { failOrphan } from '../fail-orphan.ts';

/** Orphaned seats whose ends are written in one commit. */
const ORPHANS_AT_A_TIME = 100;

export interface SeatRowsOptions {
  readonly database: Database;
  readonly store: TraceStore;
  readonly logger: Pick<Logger, 'error'>;
  /** Name of the server that holds the seats. */
  readonly ownerId: string;
}

/** The open seats in the database. They tell other processes when the owner of a seat is gone. */
export class SeatRows {
  readonly #options: SeatRowsOptions;
  readonly #lease: RowLease;

  constructor(options: SeatRowsOptions) {
    this.#options = options;
    this.#lease = new RowLease(options.database, 'seats', options.ownerId);
  }

  /** Publishes the owner's address to other processes. Called before the first seat starts. */
  advertise(url: string): void {
    this.#lease.advertise(url);
  }

  /** Stores a new seat, in the transaction that stores its trace. */
  async insert(
    seat: { readonly traceId: string; readonly account: string; readonly secretHash: string },
    transaction: DatabaseTransaction,
  ): Promise<void> {
    const { traceId, account, secretHash } = seat;
    const row = { trace_id: traceId, account, secret_hash: secretHash, owner: this.#lease.owner, seen_at: Date.now() };
    await transaction.insertInto('seats').values(row).execute();
  }

  /**
   * Deletes a seat that has ended. A trace without an end gets one: no other process would write it, and no worker may
   * start the trace as a run.
   */
  async end(traceId: string, message: string): Promise<void> {
    await this.#end([traceId], message);
  }

  /**
   * Ends the traces of seats whose owner is gone as failed, because their environments are gone too. @returns their
   * number.
   */
  async failOrphans(): Promise<number> {
    const traceIds = await this.#lease.gone();
    for (let from = 0; from < traceIds.length; from += ORPHANS_AT_A_TIME) {
      const batch = traceIds.slice(from, from + ORPHANS_AT_A_TIME);
      await this.#end(batch, 'The service that held the seat ended; its environment is gone');
    }
    return traceIds.length;
  }

  /** Renews the lease of this owner's seats, and fails the seats of owners that disappear. */
  watch(hasSeats: () => boolean): Pick<Loop, 'stop'> {
    const { logger } = this.#options;
    return this.#lease.watch({ isHolding: hasSeats, endGone: () => this.failOrphans(), logger });
  }

  async #end(traceIds: readonly string[], message: string): Promise<void> {
    const { database, store } = this.#options;
    await Promise.all(traceIds.map((traceId) => failOrphan(store, traceId, message)));
    await database.kysely.deleteFrom('seats').where('trace_id', 'in', traceIds).execute();
  }
}
