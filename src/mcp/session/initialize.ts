import {
  type InitializeRequest,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { JsonObject } from '../../contract/json.ts';
import type { InitializeContext, InitializeHook, ReportProgress } from '../../environment/definition.ts';
import { isToolError } from '../../environment/tool-result.ts';
import { untilAborted } from '../../runtime/deadline.ts';
import { isHarness, withoutHarnessKey } from '../audience.ts';
import { describeFailure } from '../describe-thrown.ts';
import { guardStdout } from '../stdout-guard.ts';
import { NO_PROGRESS, openProgress } from './request.ts';
import type { SessionPeer } from './session-peer.ts';
import type { SessionServer } from './session-server.ts';

const DEFAULT_DISPLAY = { width: 1920, height: 1080 } as const;
/** Characters of the author's words that a harness is told. */
const MAX_REASON_LENGTH = 2_048;

/** One run of the hooks, and the signal of the request that it is for. */
interface InFlightInitialization {
  readonly done: Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * The initialize hooks of one session: run once, by the first request that asks for it, while the others wait. A failure
 * is answered in our own words and tried again by the next that asks.
 */
export class Initialization {
  readonly #hooks: readonly InitializeHook[];
  readonly #peer: SessionPeer;
  /** The hooks that run. */
  #inFlight: InFlightInitialization | undefined;
  /** The `initialize` that runs, from its first line to its last. */
  #handshake: Promise<void> | undefined;
  #isDone = false;
  #hasBegun = false;

  constructor(hooks: readonly InitializeHook[], peer: SessionPeer) {
    this.#hooks = hooks;
    this.#peer = peer;
  }

  /** True once the author's code may hold something for this session. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** Runs inside the handshake of a server. @param resultMeta `_meta` of its answer. */
  serve(server: SessionServer, resultMeta: JsonObject): void {
    server.beforeInitialize((params, mcp) => this.initialize(params, mcp), resultMeta);
  }

  /** Runs inside `initialize`. @throws ProtocolError when the hook fails, and for a session that is initialized already. */
  async initialize(params: InitializeRequest['params'], mcp: ServerContext): Promise<void> {
    // Another `initialize` of the session may be running: this one is needed only if that one fails.
    while (this.#handshake !== undefined) await this.#handshake.catch(() => {});
    if (this.#isDone) throw new ProtocolError(ProtocolErrorCode.InvalidRequest, 'This session is initialized already');
    this.#peer.introduce(params, mcp);
    this.#handshake = this.#shakeHands(mcp).finally(() => {
      this.#handshake = undefined;
    });
    await this.#handshake;
  }

  /**
   * Runs the hooks where they have not run, or waits for those that run. `progress` is that of the request, which goes on
   * to report by the same token. Where they end because the request that they ran for was cancelled, the next that waits
   * runs them anew.
   *
   * @throws ProtocolError when they fail.
   */
  async ensure(mcp: ServerContext, progress: ReportProgress): Promise<void> {
    while (!this.#isDone) {
      this.#hasBegun = true;
      this.#inFlight ??= this.#start(mcp, progress);
      const inFlight = this.#inFlight;
      try {
        await untilAborted(inFlight.done, mcp.mcpReq.signal);
      } catch (error) {
        if (mcp.mcpReq.signal.aborted) throw error;
        // Several may wait for one run: each is told what it may know.
        if (!inFlight.signal.aborted)
          throw refusedInitialization(isHarness(mcp.mcpReq._meta, this.#peer.authority) ? error : undefined);
      }
    }
  }

  /** Resolves when no hook runs, whatever became of it. */
  async stopped(): Promise<void> {
    await this.#inFlight?.done.catch(() => {});
  }

  /** True where `initialize` has been answered: nothing has to be waited for. */
  get isSettled(): boolean {
    return this.#isDone && this.#handshake === undefined;
  }

  /** Waits for the `initialize` that runs. @throws ProtocolError where there was none, or it failed. */
  async settled(mcp: ServerContext): Promise<void> {
    if (this.#handshake !== undefined) {
      await untilAborted(this.#handshake, mcp.mcpReq.signal);
      // The reply to `initialize` goes out first.
      await new Promise((resolve) => setImmediate(resolve));
    } else if (!this.#isDone) {
      const hint = 'This session is not initialized: send initialize first';
      throw new ProtocolError(ProtocolErrorCode.InvalidRequest, hint);
    }
  }

  async #shakeHands(mcp: ServerContext): Promise<void> {
    const progress = openProgress(mcp, withoutHarnessKey(mcp.mcpReq._meta));
    try {
      await this.ensure(mcp, progress?.report ?? NO_PROGRESS);
    } finally {
      await progress?.finish();
    }
  }

  #start(mcp: ServerContext, progress: ReportProgress): InFlightInitialization {
    const done = this.#run(mcp, progress).finally(() => {
      this.#inFlight = undefined;
    });
    return { done, signal: mcp.mcpReq.signal };
  }

  async #run(mcp: ServerContext, progress: ReportProgress): Promise<void> {
    if (this.#hooks.length === 0) {
      this.#isDone = true;
      return;
    }
    const meta = withoutHarnessKey(mcp.mcpReq._meta);
    const context: InitializeContext = {
      meta: {
        ...meta,
        display_width: pixels(meta.display_width, DEFAULT_DISPLAY.width),
        display_height: pixels(meta.display_height, DEFAULT_DISPLAY.height),
      },
      session: this.#peer.session,
      seed: this.#peer.seed,
      progress,
      signal: mcp.mcpReq.signal,
    };
    const guard = guardStdout();
    // A hook that hangs must not hold the output of its process when nobody waits for it any more.
    const { signal } = mcp.mcpReq;
    signal.addEventListener('abort', guard.release, { once: true });
    try {
      for (const hook of this.#hooks) await hook(context);
      this.#isDone = true;
    } catch (error) {
      this.#peer.report(describeFailure('The initialize hook', error));
      throw error;
    } finally {
      signal.removeEventListener('abort', guard.release);
      guard.release();
    }
  }
}

/**
 * The message for a client about a failure whose cause is for the developer.
 *
 * @param cause given for a harness alone: a `ToolError`'s own words are told, nothing of any other.
 */
export function refusedInitialization(cause?: unknown): ProtocolError {
  const what = 'The environment could not be initialized';
  if (!isToolError(cause)) {
    return new ProtocolError(ProtocolErrorCode.InternalError, `${what}. Its log says why; initialize again to retry.`);
  }
  const reason = cause.message.slice(0, MAX_REASON_LENGTH);
  return new ProtocolError(ProtocolErrorCode.InternalError, `${what}: ${reason}`, { reason });
}

function pixels(given: unknown, fallback: number): number {
  return typeof given === 'number' && Number.isFinite(given) && given > 0 ? given : fallback;
}
