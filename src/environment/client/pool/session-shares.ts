import { withDeadline } from '../../../support/runtime/deadline.ts';
import type { EnvironmentTarget } from '../environment-client.ts';

export interface SessionSharesOptions {
  /**
   * Starts a process of the current code to read the number of sessions that share a process, and ends it. No hook of
   * the author runs.
   */
  readonly read: (target: EnvironmentTarget, signal: AbortSignal) => Promise<number>;
}

export interface ShareWait {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds to wait. Default: until the number is known. */
  readonly limitMs?: number | undefined;
  readonly toRefusal?: (() => Error) | undefined;
}

/**
 * The number of sessions that share a process, which each environment's code sets. It is read once for each version of
 * the code.
 */
export class SessionShares {
  readonly #read: SessionSharesOptions['read'];
  readonly #shares = new Map<EnvironmentTarget, KnownShare>();
  readonly #closing = new AbortController();
  readonly #readings = new Set<Promise<unknown>>();
  #waiting = 0;

  constructor({ read }: SessionSharesOptions) {
    this.#read = read;
  }

  /** Number of callers that wait until their number is known. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The number for the code that was asked about last. Undefined until it is known. */
  of(target: EnvironmentTarget): number | undefined {
    return this.#shares.get(target)?.sessions;
  }

  /** Stores the number that a process with this code reported. */
  learn(target: EnvironmentTarget, codeHash: string | null, sessions: number): void {
    this.#shares.set(target, { codeHash, sessions });
  }

  /**
   * The number for the current code. The first caller starts a process that reads it, and concurrent callers share the
   * result.
   *
   * @throws BoundaryError if the process cannot be started; the error of `toRefusal` after the limit; the reason of the
   *   signal.
   */
  async find(target: EnvironmentTarget, codeHash: string | null, wait: ShareWait = {}): Promise<number> {
    const share = this.#shares.get(target);
    const isCurrent = share?.codeHash === codeHash;
    if (isCurrent && share.sessions !== undefined) return share.sessions;
    const { signal, limitMs, toRefusal } = wait;
    const finding = (isCurrent ? share.finding : undefined) ?? this.#begin(target, codeHash);
    this.#waiting += 1;
    try {
      return await withDeadline(() => finding, { signal, ms: limitMs, toError: toRefusal });
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Ends the processes that are reading a number. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The pool was closed'));
    await Promise.allSettled(this.#readings);
  }

  /**
   * Starts to read the number. The reading has its own signal, so a session that leaves does not stop it for the
   * others.
   */
  #begin(target: EnvironmentTarget, codeHash: string | null): Promise<number> {
    const finding = this.#read(target, this.#closing.signal);
    const share: KnownShare = { codeHash, sessions: undefined, finding };
    this.#shares.set(target, share);
    const settled = finding
      .then(
        (sessions) => this.#settle(target, share, { codeHash, sessions }),
        () => this.#settle(target, share, undefined),
      )
      .finally(() => this.#readings.delete(settled));
    this.#readings.add(settled);
    return finding;
  }

  /**
   * Stores the result. A failure is not stored, so the next session tries again. If the code has changed meanwhile,
   * nothing is stored.
   */
  #settle(target: EnvironmentTarget, begun: KnownShare, found: KnownShare | undefined): void {
    if (this.#shares.get(target) !== begun) return;
    if (found === undefined) this.#shares.delete(target);
    else this.#shares.set(target, found);
  }
}

interface KnownShare {
  readonly codeHash: string | null;
  /** Sessions that share a process. Undefined while the number is being read. */
  readonly sessions: number | undefined;
  readonly finding?: Promise<number> | undefined;
}
