import { LOG_LEVEL_META_KEY, type ServerContext } from '@modelcontextprotocol/server';
import type { Audience, Session, ToolContext } from '../../environment/definition.ts';
import { audienceOf, type HarnessAuthority, isHarnessPeer, type Meta, withoutHarnessKey } from '../audience.ts';
import type { Report } from '../cleanup.ts';
import { describeFailure } from '../describe-thrown.ts';
import { createProgress, type Progress } from './progress.ts';
import { RequestContext } from './request-context.ts';
import type { SessionServer } from './session-server.ts';

/** One MCP request of a session, as the rest of this layer sees it. */
export interface EnvironmentRequest {
  readonly audience: Audience;
  /** The context for the author's code. */
  readonly context: ToolContext;
  /** Tells a harness, or else the log of the process, that `what` failed, and how. An agent is told nothing by it. */
  reportFailure(what: string, error: unknown): void;
  /** Ends progress; resolves when the reply may go out. */
  finish(): Promise<void> | undefined;
}

export interface RequestParts {
  readonly server: SessionServer;
  readonly session: Session;
  readonly authority: HarnessAuthority;
  /** Undefined on 2026-07-28, where each request declares its own audience. */
  readonly isHarnessConnection: boolean | undefined;
  readonly report: Report;
}

export function openRequest(mcp: ServerContext, parts: RequestParts): EnvironmentRequest {
  const { server, session, authority, isHarnessConnection, report } = parts;
  const rawMeta = mcp.mcpReq._meta as Meta | undefined;
  const isHarnessAtOtherEnd = isHarnessConnection ?? isHarnessPeer(rawMeta, authority);
  const meta = withoutHarnessKey(rawMeta);
  const progress = openProgress(mcp, meta);
  const context = new RequestContext({ mcp, server, session, progress: progress.report, meta });
  return {
    audience: audienceOf(rawMeta, authority, isHarnessConnection),
    context,
    reportFailure(what, error) {
      const text = describeFailure(what, error);
      if (isHarnessAtOtherEnd && takesLogs(mcp, isHarnessConnection)) context.log.error(text);
      else report(text);
    },
    finish: progress.finish,
  };
}

/** Progress of a request to the client that asked for it. */
export function openProgress(mcp: ServerContext, meta: Meta): Progress {
  return createProgress(meta.progressToken, (params) => {
    ignoreLostPeer(mcp.mcpReq.notify({ method: 'notifications/progress', params: { ...params } }));
  });
}

/** Client information of a 2026-07-28 request; empty on the revisions with a handshake. */
export function envelopeOf(mcp: ServerContext): Meta {
  return mcp.mcpReq.envelope ?? {};
}

/** On 2026-07-28 a client gets log messages only of requests that ask for them. */
function takesLogs(mcp: ServerContext, isHarnessConnection: boolean | undefined): boolean {
  return isHarnessConnection !== undefined || envelopeOf(mcp)[LOG_LEVEL_META_KEY] !== undefined;
}

/** A client that has gone away misses a notification, and nothing can be done about it. */
function ignoreLostPeer(sending: Promise<void>): void {
  sending.catch(() => {});
}
