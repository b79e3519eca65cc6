import { messageOf } from '../contract/errors.ts';
import { BufferedLog } from './buffered-log.ts';
import type { ConnectOptions, EnvironmentTarget } from './environment-client.ts';
import type { McpEnvironmentClient } from './mcp-environment-client.ts';
import { hashTargetCode } from './module-hash.ts';

/** Milliseconds after which a process that was given out is replaced: its session's setup has the processor first. */
const REFILL_MS = 250;

/** A process that is connected, its initialize hook done, and has no session yet. */
export interface WarmProcess {
  readonly client: McpEnvironmentClient;
  readonly log: BufferedLog;
  /** Hash of the code before the process was started, so that a change meanwhile makes it stale. */
  readonly codeHash: string | null;
}

export interface PoolSlotParts {
  /** Starts a process and connects to it. */
  readonly connect: (target: EnvironmentTarget, options: ConnectOptions) => Promise<McpEnvironmentClient>;
  readonly size: number;
  /** Milliseconds until another start, after the first failure in a row and at most; each is twice the last. */
  readonly retryMs: { readonly first: number; readonly longest: number };
  /** Milliseconds without a request after which `onIdle` is called; undefined: never. */
  readonly idleMs: number | undefined;
  readonly report: ((line: string) => void) | undefined;
  /** Makes room for one more process in the pool. Returns false where there is none. */
  readonly makeRoom: () => boolean;
  /** Takes work that the pool waits for when it is closed. */
  readonly track: (work: Promise<void>) => void;
  readonly onIdle: () => void;
}

/** At most one process is being started, so that sessions that start cold are not slowed down. */
type SlotState =
  /** It has all its processes, or no room for more. */
  | { readonly kind: 'resting' }
  /** A process was given out and is replaced soon. */
  | { readonly kind: 'refilling'; readonly timer: NodeJS.Timeout }
  /** `lost`: why another process died meanwhile; the next start waits then. */
  | { readonly kind: 'starting'; readonly stop: AbortController; readonly lost?: { readonly cause: unknown } }
  /** A start has failed, or a process died while it waited. */
  | { readonly kind: 'retrying'; readonly timer: NodeJS.Timeout }
  | { readonly kind: 'closed' };

/** The processes that wait for sessions of one environment. */
export class PoolSlot {
  readonly #target: EnvironmentTarget;
  readonly #parts: PoolSlotParts;
  readonly #waiting: WarmProcess[] = [];
  #state: SlotState = { kind: 'resting' };
  #lastRequest = 0;
  /** Failures since a session last got a process. */
  #failures = 0;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(target: EnvironmentTarget, parts: PoolSlotParts) {
    this.#target = target;
    this.#parts = parts;
  }

  /** Processes that wait now. */
  get ready(): number {
    return this.#waiting.length;
  }

  /** Processes that it has, with the one that is being started. */
  get count(): number {
    return this.#waiting.length + (this.#state.kind === 'starting' ? 1 : 0);
  }

  /** Number of the last request for a process of the environment; 0 before the first. */
  get lastRequest(): number {
    return this.#lastRequest;
  }

  onRequest(number: number): void {
    const { idleMs, onIdle } = this.#parts;
    this.#lastRequest = number;
    clearTimeout(this.#idleTimer);
    if (idleMs !== undefined) this.#idleTimer = setTimeout(onIdle, idleMs).unref();
  }

  /** Removes the oldest process that can be used, and ends those before it that cannot. */
  take(codeHash: string | null): WarmProcess | undefined {
    for (let process = this.#waiting.shift(); process !== undefined; process = this.#waiting.shift()) {
      if (process.codeHash === codeHash && !process.client.isLost) return process;
      this.#end(process);
    }
    return undefined;
  }

  /** Ends the oldest process. Returns false where none waits. */
  dropOldest(): boolean {
    const process = this.#waiting.shift();
    if (process !== undefined) this.#end(process);
    return process !== undefined;
  }

  /** A session has got a process of the environment, from here or not: failures before it mean nothing any more. */
  onGivenOut(): void {
    this.#failures = 0;
    if (this.#state.kind === 'starting') this.#state = { kind: 'starting', stop: this.#state.stop };
    if (this.#state.kind === 'retrying') this.#rest();
    if (this.#state.kind === 'resting') this.#fillAfter('refilling', REFILL_MS);
  }

  /** Starts the processes that are missing, one after the other, in the background. */
  fill(): void {
    const { kind } = this.#state;
    if (kind === 'starting' || kind === 'retrying' || kind === 'closed') return;
    this.#rest();
    if (this.#waiting.length >= this.#parts.size || !this.#parts.makeRoom()) return;
    const stop = new AbortController();
    this.#state = { kind: 'starting', stop };
    this.#parts.track(this.#start(stop.signal));
  }

  /** Ends all its processes, the one that is being started included. */
  close(reason: string): void {
    clearTimeout(this.#idleTimer);
    if (this.#state.kind === 'starting') this.#state.stop.abort(new Error(reason));
    this.#rest();
    this.#state = { kind: 'closed' };
    for (const process of this.#waiting.splice(0)) this.#end(process);
  }

  async #start(signal: AbortSignal): Promise<void> {
    let failure: { readonly cause: unknown } | undefined;
    try {
      const log = new BufferedLog();
      const codeHash = await hashTargetCode(this.#target);
      const client = await this.#parts.connect(this.#target, { signal, onLog: log.add });
      await rehearse(client, signal);
      if (signal.aborted) {
        await client.close();
        return;
      }
      const process = { client, log, codeHash };
      this.#waiting.push(process);
      void client.lost.then((cause) => this.#onLost(process, cause));
    } catch (cause) {
      failure = { cause };
    }
    if (this.#state.kind !== 'starting') return;
    const { lost = failure } = this.#state;
    this.#rest();
    if (lost === undefined) this.fill();
    else this.#retryLater(lost.cause);
  }

  /** A process that waits has died. The session that has got one finds out by itself. */
  #onLost(process: WarmProcess, cause: unknown): void {
    const at = this.#waiting.indexOf(process);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    this.#end(process);
    if (this.#state.kind === 'starting') this.#state = { ...this.#state, lost: { cause } };
    else if (this.#state.kind !== 'retrying') this.#retryLater(cause);
  }

  #retryLater(cause: unknown): void {
    const { first, longest } = this.#parts.retryMs;
    const delayMs = Math.min(longest, first * 2 ** this.#failures);
    this.#failures += 1;
    this.#parts.report?.(`No process is kept ready for the next ${delayMs} ms: ${messageOf(cause)}`);
    this.#rest();
    this.#fillAfter('retrying', delayMs);
  }

  #fillAfter(kind: 'refilling' | 'retrying', delayMs: number): void {
    const fill = () => {
      this.#state = { kind: 'resting' };
      this.fill();
    };
    this.#state = { kind, timer: setTimeout(fill, delayMs).unref() };
  }

  #rest(): void {
    if (this.#state.kind === 'refilling' || this.#state.kind === 'retrying') clearTimeout(this.#state.timer);
    this.#state = { kind: 'resting' };
  }

  #end({ client }: WarmProcess): void {
    this.#parts.track(client.close());
  }
}

/**
 * Asks what every session asks first: a process answers for the first time several times slower than for the second.
 * Nothing of the author's runs, since there is no scenario of that name. A program that is no environment is asked nothing.
 */
async function rehearse(client: McpEnvironmentClient, signal: AbortSignal): Promise<void> {
  try {
    await client.scenarios({ signal });
    await client.tools({ signal });
    await client.setup('', {}, { signal });
  } catch {
    // The error is reported to the caller that gets the process.
  }
}
