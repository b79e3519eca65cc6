import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { ApiError } from '../contract/errors.ts';
import type { Database } from '../database/database.ts';
import { isGone, type Owner } from '../database/owner.ts';
import { Forwarder } from '../http/forward.ts';
import { isLoopbackHost } from '../http/origin-guard.ts';
import { RecentSet } from './recent-set.ts';
import { hashSeatSecret, isSeatSecret } from './seat-secret.ts';

/** Names the owner that a request was forwarded to: that one answers it, and forwards it to nobody. */
const FORWARDED = 'x-proctor-forwarded-to';
/** Milliseconds between two looks at the owners of requests that wait. */
const LOOK_EVERY_MS = 15_000;
/** Looks at which an owner has to be missing before its replies are given up: a run's last ones are still on their way. */
const MISSED_LOOKS = 2;
const MAX_KNOWN = 10_000;

export interface SeatOwnersOptions {
  readonly database: Database;
  /** Name of the server here, as its rows have it. */
  readonly ownerId: string;
  readonly logger: Pick<Logger, 'warn'>;
  /** For tests. */
  readonly lookEveryMs?: number | undefined;
}

interface Exchange {
  readonly hash: string;
  readonly owner: string;
  missed: number;
  giveUp(reason: Error): void;
}

/**
 * Seats that other processes of the same database hold. A request with the secret of one goes to its owner, at the
 * address that this has written into the row of the seat, and nowhere else. Whoever made it closes it.
 */
export class SeatOwners {
  readonly #options: SeatOwnersOptions;
  readonly #forwarder = new Forwarder();
  /** Seats that were seen elsewhere. Their rows go with them: a later request is told that the run has ended. */
  readonly #known = new RecentSet(MAX_KNOWN);
  readonly #exchanges = new Set<Exchange>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: SeatOwnersOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.#look().catch((error: unknown) =>
        options.logger.warn({ err: error }, 'Owners of seats could not be looked for'),
      );
    }, options.lookEveryMs ?? LOOK_EVERY_MS).unref();
  }

  /**
   * Lets the owner of a seat answer a request, whose secret no seat here has.
   *
   * @returns `answered`; `over` where its run has ended, or its owner with it; undefined where no seat has the secret.
   * @throws ApiError environment_failed, for an owner that does not answer and may be alive.
   */
  async answer(
    request: IncomingMessage,
    response: ServerResponse,
    secret: string | undefined,
  ): Promise<'answered' | 'over' | undefined> {
    if (secret === undefined || !isSeatSecret(secret)) return undefined;
    const { ownerId } = this.#options;
    const meant = request.headers[FORWARDED];
    // Another process answers at the address of an owner that has ended.
    if (meant !== undefined) return meant === ownerId ? undefined : 'over';
    const hash = hashSeatSecret(secret);
    const row = await this.#rowOf(hash);
    if (row === undefined) return this.#known.has(hash) ? 'over' : undefined;
    const owner: Owner = JSON.parse(row.owner);
    if (owner.id === ownerId) return undefined;
    this.#known.add(hash);
    if (isGone(owner, Number(row.seen_at))) return 'over';
    return await this.#forward(request, response, { hash, owner, secret });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#forwarder.close();
  }

  async #forward(
    request: IncomingMessage,
    response: ServerResponse,
    { hash, owner, secret }: { readonly hash: string; readonly owner: Owner; readonly secret: string },
  ): Promise<'answered' | 'over'> {
    const base = addressOf(owner);
    const giving = new AbortController();
    const exchange: Exchange = { hash, owner: owner.id, missed: 0, giveUp: (reason) => giving.abort(reason) };
    this.#exchanges.add(exchange);
    try {
      await this.#forwarder.forward(request, response, {
        base,
        headers: { ...ownHeaders(request, secret), [FORWARDED]: owner.id },
        signal: giving.signal,
      });
      return 'answered';
    } catch (thrown) {
      if (codeOf(thrown) === 'ECONNREFUSED') return 'over';
      const row = await this.#rowOf(hash);
      if (row === undefined || isGone(owner, Number(row.seen_at))) return 'over';
      this.#options.logger.warn(
        { err: thrown, owner: owner.id },
        'A request could not be forwarded to the owner of its seat',
      );
      throw unreachable(`it did not answer`, thrown);
    } finally {
      this.#exchanges.delete(exchange);
    }
  }

  async #rowOf(hash: string): Promise<{ readonly owner: string; readonly seen_at: number } | undefined> {
    return await this.#options.database.kysely
      .selectFrom('seats')
      .select(['owner', 'seen_at'])
      .where('secret_hash', '=', hash)
      .executeTakeFirst();
  }

  /** Gives up what waits for an owner that is gone: its machine may have vanished without closing a connection. */
  async #look(): Promise<void> {
    if (this.#exchanges.size === 0) return;
    for (const exchange of [...this.#exchanges]) {
      const row = await this.#rowOf(exchange.hash);
      const isThere = row !== undefined && !isGone(JSON.parse(row.owner), Number(row.seen_at));
      exchange.missed = isThere ? 0 : exchange.missed + 1;
      if (exchange.missed >= MISSED_LOOKS) exchange.giveUp(new Error('the owner of the seat is gone'));
    }
  }
}

/** @throws ApiError environment_failed for an address that is not meant for other machines. */
function addressOf({ url, host }: Owner): string {
  if (url === undefined) throw unreachable('it has told no address');
  if (host !== hostname() && isLoopbackHost(new URL(url).hostname)) {
    throw unreachable('its address is one of its own machine: set PROCTOR_ADVERTISE_URL there');
  }
  return url;
}

function unreachable(why: string, cause?: unknown): ApiError {
  return new ApiError('environment_failed', `Another process of the service holds this seat, and ${why}.`, { cause });
}

/** The secret is the only credential that goes along, in the places in which the agent has put one. */
function ownHeaders({ headers }: IncomingMessage, secret: string): Record<string, string | undefined> {
  return {
    authorization: headers.authorization === undefined ? undefined : `Bearer ${secret}`,
    'x-api-key': headers['x-api-key'] === undefined ? undefined : secret,
    'x-goog-api-key': headers['x-goog-api-key'] === undefined ? undefined : secret,
    cookie: undefined,
    // It was checked here, by the names that are allowed here.
    origin: undefined,
  };
}

function codeOf(thrown: unknown): unknown {
  return thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
}
