import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import type { Database } from '../../store/database/database.ts';
import { isGone, type Owner } from '../../store/database/row-lease.ts';
import { type RouteReply, type RouteRequest, TRACE_ID_HEADER } from '../../support/http/api/route.ts';
import { Forwarder } from '../../support/http/forward.ts';
import { isLoopbackHost } from '../../support/http/origin-guard.ts';
import { createHttpFetch } from '../../support/runtime/http-fetch.ts';
import { type Loop, startLoop } from '../../support/runtime/loop.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { RecentSet } from './model-endpoint/recent-set.ts';
import { hashSeatSecret, isSeatSecret } from './seat-secret.ts';

/** Header with the owner that a request was forwarded to. That server answers it and does not forward it again. */
const FORWARDED = 'x-proctor-forwarded-to';
/**
 * Header with the address by which the client reached the first server. Replies use it instead of the owner's address.
 */
const FORWARDED_BASE = 'x-proctor-forwarded-base';
/** Client headers that are passed on to the owner: credentials and the id of the request. */
const PASSED_ON = ['authorization', 'cookie', 'x-csrf-token', 'idempotency-key'] as const;
/** Reply headers that are passed back from the owner. */
const HANDED_BACK = ['content-type', 'retry-after', 'x-should-retry', TRACE_ID_HEADER] as const;
/** Consecutive checks without the owner until its replies are given up. The last replies of a run may still arrive. */
const MISSED_LOOKS = 2;
const MAX_KNOWN = 10_000;

export interface SeatOwnersOptions {
  readonly database: Database;
  /** Name of this server, as in its database rows. */
  readonly ownerId: string;
  readonly logger: Pick<Logger, 'warn'>;
  /** Milliseconds between two checks of the owners. For tests. */
  readonly lookEveryMs?: number | undefined;
}

/** Column and value that find the row of a seat. */
interface SeatPlace {
  readonly column: 'secret_hash' | 'trace_id';
  readonly value: string;
}

interface Exchange {
  readonly place: SeatPlace;
  missed: number;
  giveUp(reason: Error): void;
}

/**
 * Seats that other processes of the same database hold. A request with a seat's secret, or with an API key and the
 * seat's trace, goes to the owner at the address in the seat's row, and nowhere else. The caller must close it.
 */
export class SeatOwners {
  readonly #options: SeatOwnersOptions;
  readonly #forwarder = new Forwarder();
  readonly #fetch = createHttpFetch();
  /**
   * Hashes of seats that were found elsewhere. When their rows are deleted, later requests learn that the run has
   * ended.
   */
  readonly #known = new RecentSet(MAX_KNOWN);
  readonly #exchanges = new Set<Exchange>();
  readonly #loop: Loop;

  constructor(options: SeatOwnersOptions) {
    this.#options = options;
    this.#loop = startLoop({
      look: () => this.#look(),
      restMs: options.lookEveryMs ?? PERIODS_MS.signsOfLife,
      onError: (error) => options.logger.warn({ err: error }, 'Owners of seats could not be looked for'),
    });
  }

  /**
   * Lets the owner of a seat answer a request whose secret belongs to no local seat.
   *
   * @returns `answered`; `over` if the run or its owner has ended; undefined if no seat has the secret.
   */
  async answer(
    request: IncomingMessage,
    response: ServerResponse,
    secret: string | undefined,
  ): Promise<'answered' | 'over' | undefined> {
    if (secret === undefined || !isSeatSecret(secret)) return undefined;
    const { ownerId } = this.#options;
    const meant = request.headers[FORWARDED];
    // A new process may answer at the address of an owner that has ended.
    if (meant !== undefined) return meant === ownerId ? undefined : 'over';
    const hash = hashSeatSecret(secret);
    const place: SeatPlace = { column: 'secret_hash', value: hash };
    const row = await this.#rowOf(place);
    if (row === undefined) return this.#known.has(hash) ? 'over' : undefined;
    const owner: Owner = JSON.parse(row.owner);
    if (owner.id === ownerId) return undefined;
    this.#known.add(hash);
    if (isGone(owner, Number(row.seen_at))) return 'over';
    const answered = await this.#atOwner(place, owner, async (base, signal) => {
      const headers = { ...ownHeaders(request, secret), [FORWARDED]: owner.id };
      await this.#forwarder.forward(request, response, { base, headers, signal });
      return 'answered' as const;
    });
    return answered ?? 'over';
  }

  /** True if another live process holds the seat of a trace. */
  async isElsewhere(traceId: string): Promise<boolean> {
    return (await this.#ownerElsewhere({ column: 'trace_id', value: traceId })) !== undefined;
  }

  /**
   * Lets the process that holds the seat of a trace answer a client's request. The client's credentials are passed on,
   * because the owner checks them too.
   *
   * @param base address by which the client reached this server, for the addresses in the reply.
   * @returns undefined if no other process holds the seat, or if that process has ended.
   * @throws ApiError environment_failed if the owner does not answer but may be alive.
   */
  async ask(traceId: string, request: RouteRequest, base: string): Promise<RouteReply | undefined> {
    if (request.headers[FORWARDED] !== undefined) return undefined;
    const place: SeatPlace = { column: 'trace_id', value: traceId };
    const owner = await this.#ownerElsewhere(place);
    if (owner === undefined) return undefined;
    const { path, method, json, signal } = request;
    const headers = pick(PASSED_ON, (name) => request.headers[name]);
    const exchangeWith = async (url: string, gone: AbortSignal) => {
      const reply = await this.#fetch(`${url}${path}`, {
        method,
        headers: { ...headers, 'content-type': 'application/json', [FORWARDED]: owner.id, [FORWARDED_BASE]: base },
        body: json === undefined ? null : JSON.stringify(json),
        signal: AbortSignal.any([signal, gone]),
      });
      const handedBack = pick(HANDED_BACK, (name) => reply.headers.get(name));
      return { status: reply.status, headers: handedBack, body: await reply.text() };
    };
    return await this.#atOwner(place, owner, exchangeWith, signal);
  }

  /** The address by which the client reached the server that forwarded this request. */
  baseOf({ headers }: Pick<RouteRequest, 'headers'>): string | undefined {
    const base = headers[FORWARDED_BASE];
    if (headers[FORWARDED] !== this.#options.ownerId || typeof base !== 'string') return undefined;
    return /^https?:/.test(base) && URL.canParse(base) ? base : undefined;
  }

  close(): void {
    void this.#loop.stop();
    this.#forwarder.close();
    this.#fetch.close();
  }

  /** @param client aborted when the client has left. @returns undefined if the owner has ended. */
  async #atOwner<Result>(
    place: SeatPlace,
    owner: Owner,
    exchangeWith: (base: string, signal: AbortSignal) => Promise<Result>,
    client?: AbortSignal,
  ): Promise<Result | undefined> {
    const base = addressOf(owner);
    const giving = new AbortController();
    const exchange: Exchange = { place, missed: 0, giveUp: (reason) => giving.abort(reason) };
    this.#exchanges.add(exchange);
    try {
      return await exchangeWith(base, giving.signal);
    } catch (thrown) {
      if (client?.aborted) throw thrown;
      if (codeOf(thrown) === 'ECONNREFUSED') return undefined;
      const row = await this.#rowOf(place);
      if (row === undefined || isGone(owner, Number(row.seen_at))) return undefined;
      this.#options.logger.warn(
        { err: thrown, owner: owner.id },
        'A request could not be forwarded to the owner of its seat',
      );
      throw unreachable(`it did not answer`, thrown);
    } finally {
      this.#exchanges.delete(exchange);
    }
  }

  async #ownerElsewhere(place: SeatPlace): Promise<Owner | undefined> {
    const row = await this.#rowOf(place);
    if (row === undefined) return undefined;
    const owner: Owner = JSON.parse(row.owner);
    return owner.id === this.#options.ownerId || isGone(owner, Number(row.seen_at)) ? undefined : owner;
  }

  async #rowOf({
    column,
    value,
  }: SeatPlace): Promise<{ readonly owner: string; readonly seen_at: number } | undefined> {
    return await this.#options.database.kysely
      .selectFrom('seats')
      .select(['owner', 'seen_at'])
      .where(column, '=', value)
      .executeTakeFirst();
  }

  /** Ends requests to an owner that is gone. Its machine may have vanished without closing the connection. */
  async #look(): Promise<void> {
    if (this.#exchanges.size === 0) return;
    for (const exchange of [...this.#exchanges]) {
      const row = await this.#rowOf(exchange.place);
      const isThere = row !== undefined && !isGone(JSON.parse(row.owner), Number(row.seen_at));
      exchange.missed = isThere ? 0 : exchange.missed + 1;
      if (exchange.missed >= MISSED_LOOKS) exchange.giveUp(new Error('the owner of the seat is gone'));
    }
  }
}

/** @throws ApiError environment_failed if other machines cannot use the address. */
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

/** Passes on the secret as the only credential, in the same headers in which the agent sent it. */
function ownHeaders({ headers }: IncomingMessage, secret: string): Record<string, string | undefined> {
  return {
    authorization: headers.authorization === undefined ? undefined : `Bearer ${secret}`,
    'x-api-key': headers['x-api-key'] === undefined ? undefined : secret,
    'x-goog-api-key': headers['x-goog-api-key'] === undefined ? undefined : secret,
    cookie: undefined,
    // This server has checked the origin against its own allowed names.
    origin: undefined,
  };
}

/** Headers of the given names that have one value. */
function pick(names: readonly string[], read: (name: string) => unknown): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = read(name);
    if (typeof value === 'string') picked[name] = value;
  }
  return picked;
}

function codeOf(thrown: unknown): unknown {
  return thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
}
