import type { Logger } from 'pino';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import { isGone, ownerHere } from '../database/owner.ts';
import { failedByWorker } from '../rollout/run-endings.ts';
import { isFinal } from '../trace/trace-heads.ts';
import type { TraceStore } from '../trace/trace-store.ts';

/** How often an owner says that it is there, and looks for those that are not. */
const BEAT_MS = 15_000;
const WATCH_MS = 30_000;
/** Orphans whose ends are written together: the writes of a batch are committed as one. */
const ORPHANS_AT_A_TIME = 100;

export interface SeatRowsOptions {
  readonly database: Database;
  readonly store: TraceStore;
  readonly logger: Pick<Logger, 'error'>;
  /** Name of the server that holds the seats. */
  readonly ownerId: string;
}

/** The open seats in the database, by which other processes learn when the owner of one is gone. */
export class SeatRows {
  readonly #options: SeatRowsOptions;
  #owner: string;

  constructor(options: SeatRowsOptions) {
    this.#options = options;
    this.#owner = JSON.stringify(ownerHere(options.ownerId));
  }

  /** Tells other processes where they reach the owner. Before the first seat begins. */
  advertise(url: string): void {
    this.#owner = JSON.stringify({ ...ownerHere(this.#options.ownerId), url });
  }

  /** Writes a seat that begins, in the transaction that writes its trace. */
  async insert(
    seat: { readonly traceId: string; readonly account: string; readonly secretHash: string },
    transaction: DatabaseTransaction,
  ): Promise<void> {
    const { traceId, account, secretHash } = seat;
    const row = { trace_id: traceId, account, secret_hash: secretHash, owner: this.#owner, seen_at: Date.now() };
    await transaction.insertInto('seats').values(row).execute();
  }

  /**
   * Forgets a seat that has ended. A trace without an end gets one: there is nobody else who would write it, and no worker
   * may take it for a run.
   */
  async end(traceId: string, message: string): Promise<void> {
    await this.#end([traceId], message);
  }

  /** Ends, as failed, the traces of seats whose owner is gone: their environments are gone too. @returns how many. */
  async failOrphans(): Promise<number> {
    const rows = await this.#options.database.kysely.selectFrom('seats').selectAll().execute();
    const orphans = rows.filter(({ owner, seen_at }) => isGone(JSON.parse(owner), Number(seen_at)));
    const traceIds = orphans.map(({ trace_id }) => trace_id);
    for (let from = 0; from < traceIds.length; from += ORPHANS_AT_A_TIME) {
      const batch = traceIds.slice(from, from + ORPHANS_AT_A_TIME);
      await this.#end(batch, 'The service that held the seat ended; its environment is gone');
    }
    return orphans.length;
  }

  /** Says from now on that the seats of this owner are alive, and fails those of others that go away. @returns the way to stop. */
  watch(hasSeats: () => boolean): () => void {
    const { logger } = this.#options;
    const beat = setInterval(() => {
      if (!hasSeats()) return;
      this.#beat().catch((error: unknown) => logger.error({ err: error }, 'A sign of life could not be written'));
    }, BEAT_MS).unref();
    const look = setInterval(() => {
      this.failOrphans().catch((error: unknown) =>
        logger.error({ err: error }, 'The end of a seat whose owner is gone could not be written'),
      );
    }, WATCH_MS).unref();
    return () => {
      clearInterval(beat);
      clearInterval(look);
    };
  }

  async #end(traceIds: readonly string[], message: string): Promise<void> {
    const { database, store } = this.#options;
    const failIfOpen = async (traceId: string) => {
      const row = await store.row(traceId);
      if (row !== undefined && !isFinal(row)) await store.append(traceId, row.attempt, [failedByWorker(message)]);
    };
    await Promise.all(traceIds.map(failIfOpen));
    await database.kysely.deleteFrom('seats').where('trace_id', 'in', traceIds).execute();
  }

  async #beat(): Promise<void> {
    await this.#options.database.kysely
      .updateTable('seats')
      .set({ seen_at: Date.now() })
      .where('owner', '=', this.#owner)
      .execute();
  }
}
