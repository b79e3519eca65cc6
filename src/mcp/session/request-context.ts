import type { ServerContext } from '@modelcontextprotocol/server';
import type { Log, ReportProgress, Session, ToolContext } from '../../environment/definition.ts';
import type { Meta } from '../audience.ts';
import { type ClientRequests, createClientRequests } from './client-requests.ts';
import { createRequestLog } from './request-log.ts';
import type { SessionServer } from './session-server.ts';

export interface ContextParts {
  readonly mcp: ServerContext;
  readonly server: SessionServer;
  readonly session: Session;
  readonly progress: ReportProgress;
  /** Without the harness key. */
  readonly meta: Meta;
}

/** The context of one request for the author's code. Most calls neither log nor ask, so those parts are made at first use. */
export class RequestContext implements ToolContext {
  readonly signal: AbortSignal;
  readonly progress: ReportProgress;
  readonly session: Session;
  readonly meta: Meta;
  readonly #mcp: ServerContext;
  readonly #server: SessionServer;
  #log: Log | undefined;
  #requests: ClientRequests | undefined;

  constructor({ mcp, server, session, progress, meta }: ContextParts) {
    this.signal = mcp.mcpReq.signal;
    this.progress = progress;
    this.session = session;
    this.meta = meta;
    this.#mcp = mcp;
    this.#server = server;
  }

  get log(): Log {
    this.#log ??= createRequestLog((level, text) => this.#mcp.mcpReq.log(level, text, 'environment'));
    return this.#log;
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

  get roots(): ClientRequests['roots'] {
    return this.#client.roots;
  }

  get #client(): ClientRequests {
    this.#requests ??= createClientRequests(this.#mcp, this.#server);
    return this.#requests;
  }
}
