import { LOG_LEVEL_META_KEY, type ServerContext } from '@modelcontextprotocol/server';
import type { Audience, Log, ReportProgress, Session, ToolContext } from '../../authoring/definition.ts';
import { identifySender, type Meta, type Sender } from '../audience.ts';
import { describeFailure } from '../describe-thrown.ts';
import { type ClientRequests, createClientRequests } from './client-requests.ts';
import { createProgress, type Progress } from './progress.ts';
import { createRequestLog } from './request-log.ts';
import { conversationOf, refuseJudge } from './scenarios/judge-question.ts';
import type { SessionPeer } from './session-peer.ts';
import type { SessionServer } from './session-server.ts';

/** One MCP request of a session. */
export interface EnvironmentRequest {
  readonly audience: Audience;
  /** True if the reply goes to a harness, even if the request names another audience. */
  readonly isHarnessPeer: boolean;
  /** The context for the author's code. */
  readonly context: ToolContext;
  /** Reports progress. Undefined if the client did not ask for it. It has to be finished before the reply. */
  readonly progress: Progress | undefined;
  /**
   * Reports that `what` failed, and why: to a harness if it accepts logs, otherwise to the log of the process. An agent
   * never sees it.
   */
  reportFailure(what: string, error: unknown): void;
}

/** Opens a request of this peer: its audience, and the context for the author's code. */
export function openRequest(mcp: ServerContext, peer: SessionPeer): EnvironmentRequest {
  const { authority, isHarnessConnection, report } = peer;
  const { audience, isHarnessPeer, meta } = identifySender(mcp.mcpReq._meta, authority, isHarnessConnection);
  const progress = openProgress(mcp, meta);
  const context = new RequestContext(mcp, peer, { audience, meta }, progress?.report ?? NO_PROGRESS);
  return {
    audience,
    isHarnessPeer,
    context,
    progress,
    reportFailure(what, error) {
      const text = describeFailure(what, error);
      if (isHarnessPeer && takesLogs(mcp, isHarnessConnection)) context.log.error(text);
      else report(text);
    },
  };
}

/** Progress of a request. Undefined if the client sent no progress token. */
export function openProgress(mcp: ServerContext, { progressToken }: Meta): Progress | undefined {
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined;
  return createProgress(progressToken, (params) => {
    // An error means that the client has disconnected, and is ignored.
    mcp.mcpReq.notify({ method: 'notifications/progress', params: { ...params } }).catch(() => {});
  });
}

export const NO_PROGRESS: ReportProgress = () => {};

/** True if the client accepts log messages. On MCP 2026-07-28 each request has to ask for them. */
function takesLogs(mcp: ServerContext, isHarnessConnection: boolean | undefined): boolean {
  const envelope: Meta = mcp.mcpReq.envelope ?? {};
  return isHarnessConnection !== undefined || envelope[LOG_LEVEL_META_KEY] !== undefined;
}

/**
 * The context of one request for the author's code. The log and the questions are made at first use, because most calls
 * need neither.
 */
class RequestContext implements ToolContext {
  readonly signal: AbortSignal;
  readonly progress: ReportProgress;
  readonly session: Session;
  readonly meta: Meta;
  readonly #mcp: ServerContext;
  readonly #server: SessionServer;
  readonly #peer: SessionPeer;
  readonly #audience: Audience;
  #log: Log | undefined;
  #requests: ClientRequests | undefined;

  constructor(
    mcp: ServerContext,
    peer: SessionPeer,
    { audience, meta }: Pick<Sender, 'audience' | 'meta'>,
    progress: ReportProgress,
  ) {
    this.signal = mcp.mcpReq.signal;
    this.progress = progress;
    this.session = peer.session;
    this.meta = meta;
    this.#audience = audience;
    this.#mcp = mcp;
    this.#server = peer.server;
    this.#peer = peer;
  }

  get seed(): number {
    return this.#peer.seed;
  }

  get log(): Log {
    this.#log ??= createRequestLog((level, text) => this.#mcp.mcpReq.log(level, text, 'environment'));
    return this.#log;
  }

  get conversation(): ToolContext['conversation'] {
    return conversationOf(this.meta);
  }

  get capabilities(): ClientRequests['capabilities'] {
    return this.#client.capabilities;
  }

  get elicit(): ClientRequests['elicit'] {
    return this.#client.elicit;
  }

  get sample(): ClientRequests['sample'] {
    return this.#client.sample;
  }

  get judge(): ClientRequests['judge'] {
    return this.#audience === 'harness' ? this.#client.judge : refuseJudge;
  }

  get roots(): ClientRequests['roots'] {
    return this.#client.roots;
  }

  get #client(): ClientRequests {
    this.#requests ??= createClientRequests(this.#mcp, this.#server);
    return this.#requests;
  }
}
