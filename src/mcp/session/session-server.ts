import { type InitializeRequest, Server, type ServerContext, type ServerOptions } from '@modelcontextprotocol/server';

/** The revision without `initialize` and without sessions. */
export const MODERN_REVISION = '2026-07-28';
/** The session-based revisions, newest first. */
export const SESSION_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/**
 * The SDK's low-level server with the two seams that an environment needs. `McpServer` is no choice: it tells hidden
 * tools from unknown ones, looks names up through prototypes, and shows an agent whatever a handler throws.
 */
export class SessionServer extends Server {
  constructor(info: ConstructorParameters<typeof Server>[0], options: ServerOptions) {
    super(info, { ...options, supportedProtocolVersions: [MODERN_REVISION, ...SESSION_REVISIONS] });
  }

  /** Runs `hook` inside the `initialize` request, before the SDK's own answer to it. What it throws is the answer. */
  beforeInitialize(hook: (params: InitializeRequest['params'], context: ServerContext) => Promise<void>): void {
    const answer = this._getRequestHandler('initialize');
    if (answer === undefined) throw new Error('The SDK has no handler of initialize');
    this.setRequestHandler('initialize', async (request, context) => {
      await hook(request.params, context);
      return answer({ jsonrpc: '2.0', id: context.mcpReq.id, ...request }, context) as never;
    });
  }

  /** Serves one long-lived instance on the revision without a handshake. Only for transports that classify messages. */
  serveModern(): void {
    this._negotiatedProtocolVersion = MODERN_REVISION;
  }
}

/** The revision that a client which asks for `requested` gets. */
export function negotiatedRevision(requested: string): string {
  return SESSION_REVISIONS.find((revision) => revision === requested) ?? SESSION_REVISIONS[0];
}
