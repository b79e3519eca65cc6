import { messageOf } from '../../../contract/errors.ts';
import { BufferedLog } from '../buffered-log.ts';
import type { ConnectOptions, EnvironmentTarget } from '../environment-client.ts';
import type { McpEnvironmentClient } from '../mcp-environment-client.ts';
import { hashTargetCode } from './module-hash.ts';

/** Milliseconds until a process that was taken is replaced, so that the setup of its session is not slowed down. */
const REFILL_MS = 250;

/** A connected process without a session. Its initialize hook has run. */
export interface WarmProcess {
  readonly client: McpEnvironmentClient;
  readonly log: BufferedLog;
  /**
   * Hash of the code before the process was started. If the code changes during the start, the process counts as
   * outdated.
   */
  readonly codeHash: string | null;
}

export interface WarmProcessesParts {
  /** Starts a process and connects to it. */
  readonly connect: (target: EnvironmentTarget, options: ConnectOptions) => Promise<McpEnvironmentClient>;
  readonly size: number;
  /**
   * Milliseconds until the next attempt: after the first failure, and at most. Each further failure doubles the delay.
   */
  readonly retryMs: { readonly first: number; readonly longest: number };
  /** Milliseconds without a request after which `onIdle` is called. Undefined means never. */
  readonly idleMs: number | undefined;
  readonly report: ((line: string) => void) | undefined;
  /** Makes room for one more process in the pool. Returns false if there is no room. */
  readonly makeRoom: () => boolean;
  /** Registers work that the pool waits for when it is closed. */
  readonly track: (work: Promise<void>) => void;
  readonly onIdle: () => void;
}

/**
 * The state of the processes. At most one is starting at a time, so that other sessions' starts are not slowed down.
 */
type SlotState =
  /** All processes are there, or there is no room for more. */
  | { readonly kind: 'resting' }
  /** A process was taken and will be replaced soon. */
  | { readonly kind: 'refilling'; readonly timer: NodeJS.Timeout }
  /** A process is starting. `lost` is set if another one died meanwhile; then the next start is delayed. */
  | { readonly kind: 'starting'; readonly stop: AbortController; readonly lost?: { readonly cause: unknown } }
  /** A start failed, or a waiting process died. */
  | { readonly kind: 'retrying'; readonly timer: NodeJS.Timeout }
  | { readonly kind: 'closed' };

/** The processes that wait for sessions of one environment. */
export class WarmProcesses {
  readonly #target: EnvironmentTarget;
  readonly #parts: WarmProcessesParts;
  readonly #waiting: WarmProcess[] = [];
  #state: SlotState = { kind: 'resting' };
  #lastRequest = 0;
  /** Failures since a session last got a process. */
  #failures = 0;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(target: EnvironmentTarget, parts: WarmProcessesParts) {
    this.#target = target;
    this.#parts = parts;
  }

  /** Number of processes that wait now. */
  get ready(): number {
    return this.#waiting.length;
  }

  /** Number of its processes, including the one that is starting. */
  get count(): number {
    return this.#waiting.length + (this.#state.kind === 'starting' ? 1 : 0);
  }

  /** Sequence number of the last request for the environment, 0 before the first. */
  get lastRequest(): number {
    return this.#lastRequest;
  }

  onRequest(number: number): void {
    const { idleMs, onIdle } = this.#parts;
    this.#lastRequest = number;
    clearTimeout(this.#idleTimer);
    if (idleMs !== undefined) this.#idleTimer = setTimeout(onIdle, idleMs).unref();
  }

  /** Removes and returns the oldest usable process. Unusable processes before it are ended. */
  take(codeHash: string | null): WarmProcess | undefined {
    for (let process = this.#waiting.shift(); process !== undefined; process = this.#waiting.shift()) {
      if (process.codeHash === codeHash && !process.client.isLost) return process;
      this.#end(process);
    }
    return undefined;
  }

  /** Ends the oldest process. Returns false if there is none. */
  dropOldest(): boolean {
    const process = this.#waiting.shift();
    if (process !== undefined) this.#end(process);
    return process !== undefined;
  }

  /** Resets the failures, because a session has got a process of the environment, from here or elsewhere. */
  onGivenOut(): void {
    this.#failures = 0;
    if (this.#state.kind === 'starting') this.#state = { kind: 'starting', stop: this.#state.stop };
    if (this.#state.kind === 'retrying') this.#rest();
    if (this.#state.kind === 'resting') this.#fillAfter('refilling', REFILL_MS);
  }

  /** Starts missing processes, one after the other, in the background. */
  fill(): void {
    const { kind } = this.#state;
    if (kind === 'starting' || kind === 'retrying' || kind === 'closed') return;
    this.#rest();
    if (this.#waiting.length >= this.#parts.size || !this.#parts.makeRoom()) return;
    const stop = new AbortController();
    this.#state = { kind: 'starting', stop };
    this.#parts.track(this.#start(stop.signal));
  }

  /** Ends all processes, including the one that is starting. */
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

  /** Handles the death of a waiting process. If a session has taken the process, the session notices by itself. */
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
 * Sends the first requests of a session in advance, because a process answers its first request several times slower
 * than the second. No author code runs, because no scenario has an empty name. If the program is not an environment,
 * the first request fails and the others are not sent.
 */
async function rehearse(client: McpEnvironmentClient, signal: AbortSignal): Promise<void> {
  try {
    await client.scenarios({ signal });
    await client.tools({ signal });
    await client.setup('', {}, { signal });
  } catch {
    // The caller that gets the process reports the error.
  }
}
