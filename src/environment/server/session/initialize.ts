import {
  type InitializeRequest,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../contract/json.ts';
import { untilAborted } from '../../../support/runtime/deadline.ts';
import type { InitializeContext, InitializeHook, ReportProgress } from '../../authoring/definition.ts';
import { isToolError } from '../../authoring/tool-result.ts';
import { isHarness, withoutHarnessKey } from '../audience.ts';
import { describeFailure } from '../describe-thrown.ts';
import { guardStdout } from '../stdout-guard.ts';
import { NO_PROGRESS, openProgress } from './request.ts';
import type { SessionPeer } from './session-peer.ts';
import type { SessionServer } from './session-server.ts';

const DEFAULT_DISPLAY = { width: 1920, height: 1080 } as const;
/** Maximum number of characters of the author's message that a harness receives. */
const MAX_REASON_LENGTH = 2_048;

/** A run of the hooks, and the signal of the request that started it. */
interface InFlightInitialization {
  readonly done: Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Runs the initialize hooks of one session. The first request that needs them runs them, and others wait. After a
 * failure the client gets a general message, and the next request tries again.
 */
export class Initialization {
  readonly #hooks: readonly InitializeHook[];
  readonly #peer: SessionPeer;
  /** The run of the hooks that is in progress. */
  #inFlight: InFlightInitialization | undefined;
  /** The `initialize` request that is in progress. */
  #handshake: Promise<void> | undefined;
  #isDone = false;
  #hasBegun = false;

  constructor(hooks: readonly InitializeHook[], peer: SessionPeer) {
    this.#hooks = hooks;
    this.#peer = peer;
  }

  /** True if the author's code may hold something for this session that has to be closed. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** Runs the hooks during the handshake of a server. @param resultMeta is `_meta` of its answer. */
  serve(server: SessionServer, resultMeta: JsonObject): void {
    server.beforeInitialize((params, mcp) => this.initialize(params, mcp), resultMeta);
  }

  /** Handles `initialize`. @throws ProtocolError if a hook fails, and for a session that is already initialized. */
  async initialize(params: InitializeRequest['params'], mcp: ServerContext): Promise<void> {
    // Another `initialize` may be in progress. This one continues only if that one fails.
    while (this.#handshake !== undefined) await this.#handshake.catch(() => {});
    if (this.#isDone) throw new ProtocolError(ProtocolErrorCode.InvalidRequest, 'This session is initialized already');
    this.#peer.introduce(params, mcp);
    this.#handshake = this.#shakeHands(mcp).finally(() => {
      this.#handshake = undefined;
    });
    await this.#handshake;
  }

  /**
   * Runs the hooks, or waits for the run in progress. `progress` belongs to the request, which continues to report with
   * the same token. If the request that runs the hooks is cancelled, the next waiting request runs them again.
   *
   * @throws ProtocolError if a hook fails.
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
        // Several requests may wait for one run. Only a harness gets the cause.
        if (!inFlight.signal.aborted)
          throw refusedInitialization(isHarness(mcp.mcpReq._meta, this.#peer.authority) ? error : undefined);
      }
    }
  }

  /** Resolves when no hook is running, even after a failure. */
  async stopped(): Promise<void> {
    await this.#inFlight?.done.catch(() => {});
  }

  /** True if `initialize` has been answered, so there is nothing to wait for. */
  get isSettled(): boolean {
    return this.#isDone && this.#handshake === undefined;
  }

  /** Waits for the `initialize` in progress. @throws ProtocolError if there was none, or if it failed. */
  async settled(mcp: ServerContext): Promise<void> {
    if (this.#handshake !== undefined) {
      await untilAborted(this.#handshake, mcp.mcpReq.signal);
      // The reply to `initialize` has to be sent first.
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
    // A hook that hangs must not keep standard output redirected after its request was aborted.
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
 * The error for a client if the initialization failed. The cause is for the developer.
 *
 * @param cause is set for a harness only. It sees the message of a `ToolError`, but of no other error.
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
