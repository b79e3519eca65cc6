import { hostname } from 'node:os';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { type Loop, startLoop } from '../../support/runtime/loop.ts';
import { GONE_AFTER_MS, PERIODS_MS } from '../../support/runtime/periods.ts';
import type { Database } from './database.ts';

/** The process that holds a row whose state lives in its memory. */
export interface Owner {
  readonly host: string;
  readonly pid: number;
  readonly id: string;
  /**
   * Start of the process, in milliseconds since 1970. It tells two processes with the same pid apart, as in containers.
   */
  readonly startedAt: number;
  /** Address of the owner's server for other processes, without a trailing slash; undefined when they need none. */
  readonly url?: string;
}

/** This process as an owner. @param id id of its server. */
export function ownerHere(id: string): Owner {
  return { host: hostname(), pid: process.pid, id, startedAt: performance.timeOrigin };
}

/**
 * True when the owner's process has ended, or gave no sign of life for a minute.
 *
 * @param seenAt time of the last sign of life, in milliseconds since 1970.
 */
export function isGone({ host, pid, startedAt }: Owner, seenAt: number): boolean {
  const here = ownerHere('');
  const isSilent = seenAt < Date.now() - GONE_AFTER_MS.owner;
  if (host !== here.host) return isSilent;
  if (pid === process.pid && startedAt !== here.startedAt) return true;
  // Another program may have this pid by now.
  return isSilent || !isRunning(pid);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Another owner has the row, or the row has ended. The caller stops and writes nothing. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/** Tables whose rows describe state in the memory of an owner. `held` selects the rows that are still in use. */
const HELD = {
  seats: { id: 'trace_id', owner: 'owner', held: sql<boolean>`1 = 1` },
  chat_sessions: { id: 'session_id', owner: 'server', held: sql<boolean>`status = 'active'` },
} as const;

export interface RowWatch {
  /** True when this owner holds at least one row now. */
  isHolding(): boolean;
  /** Ends the rows of owners that are gone. */
  endGone(): Promise<unknown>;
  readonly logger: Pick<Logger, 'error'>;
}

/** The rows of a table that this process holds. Other processes learn from it when this process is gone. */
export class RowLease {
  readonly #database: Database;
  readonly #table: keyof typeof HELD;
  #owner: Owner;

  /** @param ownerId name of the server that holds the rows. */
  constructor(database: Database, table: keyof typeof HELD, ownerId: string) {
    this.#database = database;
    this.#table = table;
    this.#owner = ownerHere(ownerId);
  }

  /** The owner as JSON, as in the column of the table. */
  get owner(): string {
    return JSON.stringify(this.#owner);
  }

  /** Sets the address of the owner for other processes. Call it before the first row is written. */
  advertise(url: string): void {
    this.#owner = { ...this.#owner, url };
  }

  /** Ids of the rows whose owner is gone. */
  async gone(): Promise<readonly string[]> {
    const { id, owner, held } = HELD[this.#table];
    const { rows } = await sql<{ readonly id: string; readonly owner: string; readonly seen_at: number }>`
      select ${sql.ref(id)} as id, ${sql.ref(owner)} as owner, seen_at from ${sql.table(this.#table)} where ${held}
    `.execute(this.#database.kysely);
    return rows.filter((row) => isGone(JSON.parse(row.owner), Number(row.seen_at))).map((row) => row.id);
  }

  /** Starts to renew the signs of life of this owner's rows, and ends the rows of owners that are gone. */
  watch({ isHolding, endGone, logger }: RowWatch): Pick<Loop, 'stop'> {
    const signs = startLoop({
      look: async () => void (isHolding() && (await this.#renew())),
      restMs: PERIODS_MS.signsOfLife,
      onError: (error) => logger.error({ err: error }, 'A sign of life could not be written'),
    });
    const orphans = startLoop({
      look: async () => void (await endGone()),
      restMs: PERIODS_MS.orphans,
      onError: (error) =>
        logger.error({ err: error }, 'The end of a session whose server is gone could not be written'),
    });
    return { stop: async () => void (await Promise.all([signs.stop(), orphans.stop()])) };
  }

  async #renew(): Promise<void> {
    const { owner, held } = HELD[this.#table];
    await sql`
      update ${sql.table(this.#table)} set seen_at = ${Date.now()} where ${sql.ref(owner)} = ${this.owner} and ${held}
    `.execute(this.#database.kysely);
  }
}

/**
 * Detects lost processes by a sign of life that no longer changes. It does not compare timestamps: the clocks of two
 * machines differ, and any clock may jump.
 */
export class SignsOfLife {
  readonly #goneMs: number;
  #last: ReadonlyMap<string, { readonly sign: number; readonly at: number }> = new Map();

  /** @param goneMs milliseconds without a new sign after which a process counts as gone. */
  constructor(goneMs: number) {
    this.#goneMs = goneMs;
  }

  /** Takes the present signs by name of the process. @returns the processes that are gone, with their last signs. */
  see(signs: Iterable<readonly [name: string, sign: number]>): ReadonlyMap<string, number> {
    const at = performance.now();
    const last = new Map<string, { readonly sign: number; readonly at: number }>();
    const gone = new Map<string, number>();
    for (const [name, sign] of signs) {
      const before = this.#last.get(name);
      const now = before?.sign === sign ? before : { sign, at };
      last.set(name, now);
      if (at - now.at >= this.#goneMs) gone.set(name, sign);
    }
    this.#last = last;
    return gone;
  }
}
