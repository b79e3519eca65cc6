import { ApiError } from '../contract/errors.ts';
import { type Loop, startLoop } from '../support/runtime/loop.ts';
import { countText } from '../support/text/figures.ts';

export interface LiveSessionsOptions<Session> {
  idOf(session: Session): string;
  /** Most sessions at a time. Default: no limit. */
  readonly maxSessions?: number | undefined;
  /** Ends a session that started while the holder was closing. Never rejects. */
  fail?(session: Session, cause: ApiError): Promise<unknown>;
  /** Follows a session from its start. Resolves when its end is stored. */
  follow?(session: Session): Promise<void>;
  /** Ends the session if it has been idle for too long. Called every `lookEveryMs` milliseconds. */
  expire?(session: Session): void;
  readonly lookEveryMs?: number | undefined;
  /** Called when work for a session fails. */
  onError?(error: unknown, id: string): void;
}

/** The live sessions of this process: starting, active and ending ones. The caller must close it. */
export class LiveSessions<Session> {
  readonly #options: LiveSessionsOptions<Session>;
  readonly #active = new Map<string, Session>();
  /** Active sessions that their clients have left. They do not count against the limit. */
  readonly #left = new Set<string>();
  /** Starts and ends in progress. */
  readonly #working = new Set<Promise<unknown>>();
  readonly #expiry: Loop | undefined;
  #starting = 0;
  #closed: ApiError | undefined;

  constructor(options: LiveSessionsOptions<Session>) {
    this.#options = options;
    if (options.lookEveryMs === undefined) return;
    this.#expiry = startLoop({
      look: () => this.expire(),
      restMs: options.lookEveryMs,
      onError: (error) => options.onError?.(error, 'idle'),
    });
  }

  /** Number of sessions that start or are active, without those that were left. */
  get size(): number {
    return this.#active.size - this.#left.size + this.#starting;
  }

  /** True while any session is active, even one that its client left. */
  get isHolding(): boolean {
    return this.#active.size > 0;
  }

  find(id: string): Session | undefined {
    return this.#active.get(id);
  }

  /** Active sessions, oldest first. */
  all(): readonly Session[] {
    return [...this.#active.values()];
  }

  /**
   * Makes a session and holds it until `drop`. It counts from now on.
   *
   * @throws ApiError capacity_exceeded; the cause of `close`, even if it was called meanwhile; the error of `make`.
   */
  async start<Made extends Session>(make: () => Promise<Made>): Promise<Made> {
    this.assertRoom();
    this.#starting += 1;
    const starting = this.#hold(make).finally(() => {
      this.#starting -= 1;
    });
    this.#keep(starting.catch(() => {})); // The caller of `start` gets the error.
    return await starting;
  }

  /** Holds a session that exists already. */
  add(session: Session): void {
    this.#active.set(this.#options.idOf(session), session);
  }

  /** @throws ApiError as `start` does. */
  assertRoom(): void {
    const { maxSessions } = this.#options;
    if (this.#closed !== undefined) throw this.#closed;
    if (maxSessions === undefined) return;
    // A left session still counts until its environment is closed, against twice the limit.
    const isFull = this.size >= maxSessions || this.size + this.#left.size >= 2 * maxSessions;
    if (isFull) throw atCapacity(maxSessions);
  }

  async #hold<Made extends Session>(make: () => Promise<Made>): Promise<Made> {
    const { idOf, follow, fail } = this.#options;
    const session = await make();
    const id = idOf(session);
    this.add(session);
    if (follow !== undefined) this.finish(id, () => follow(session));
    if (this.#closed === undefined) return session;
    // It was closed while the session was being stored: nothing else would end the session.
    await fail?.(session, this.#closed);
    throw this.#closed;
  }

  /** Marks a session that its client left. It no longer counts, and is held until it has ended. */
  leave(id: string): void {
    if (this.#active.has(id)) this.#left.add(id);
  }

  /** Forgets a session that has ended. */
  drop(id: string): void {
    this.#active.delete(id);
    this.#left.delete(id);
  }

  /** Does the remaining work of a session. `close` waits for it. */
  finish(id: string, work: () => Promise<void>): void {
    this.#keep(work().catch((error: unknown) => this.#options.onError?.(error, id)));
  }

  /** Ends the sessions that have been idle for too long. */
  expire(): void {
    for (const session of this.all()) this.#options.expire?.(session);
  }

  /**
   * Refuses new sessions, lets `end` end the active ones, and waits for all work. @param cause error for later starts.
   */
  async close(cause: ApiError, end: () => Promise<unknown>): Promise<void> {
    this.#closed = cause;
    await this.#expiry?.stop();
    await end();
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  #keep(work: Promise<unknown>): void {
    const working = work.finally(() => this.#working.delete(working));
    this.#working.add(working);
  }
}

function atCapacity(maxSessions: number): ApiError {
  return new ApiError(
    'capacity_exceeded',
    `The server holds ${countText(maxSessions, 'session')}, which is its limit: finish or delete some, or start it with a higher --max-sessions.`,
    { headers: { 'retry-after': '10' } },
  );
}
