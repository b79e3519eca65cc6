import {
  type InitializeRequest,
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  Server,
  type ServerContext,
  type ServerOptions,
  type Transport,
} from '@modelcontextprotocol/server';
import { messageOf } from '../../contract/errors.ts';
import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import { preview } from '../../schema/json-schema.ts';
import { isPlainRequest } from '../json-rpc.ts';

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

  /** The SDK asks three schemas what each message is. A request that is one beyond doubt is handed on as what it is. */
  override async connect(transport: Transport): Promise<void> {
    const connecting = super.connect(transport);
    const receive = transport.onmessage;
    transport.onmessage = (message, extra) => {
      // biome-ignore lint/complexity/useLiteralKeys: it is private, and can be named in no other way
      if (isPlainRequest(message)) this['_onrequest'](message, extra);
      else receive?.(message, extra);
    };
    return connecting;
  }

  /**
   * Runs `hook` inside the `initialize` request, before the SDK's own answer to it, which gets the `_meta` that it returns.
   * What it throws is the answer.
   */
  beforeInitialize(hook: (params: InitializeRequest['params'], context: ServerContext) => Promise<JsonObject>): void {
    const answer = this._getRequestHandler('initialize');
    if (answer === undefined) throw new Error('The SDK has no handler of initialize');
    this.setRequestHandler('initialize', async (request, context) => {
      const _meta = await hook(request.params, context);
      const result = await answer({ jsonrpc: '2.0', id: context.mcpReq.id, ...request }, context);
      return { ...result, _meta } as never;
    });
  }

  /** The SDK answers parameters of the wrong type as an internal error, in pages of its own words. */
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const wrapped = super._wrapHandler(method, (request, context) => {
      try {
        return handler(request, context);
      } catch (error) {
        // A synchronous throw comes from the check of the parameters: handlers answer by a promise.
        throw error instanceof ProtocolError ? error : invalidParams(method, describeIssues(error));
      }
    });
    if (method !== 'tools/call') return wrapped;
    return (request, context) => {
      // Before the SDK checks it a first time: what a model gets wrong should read like the rest of what it is told.
      const { name, arguments: args } = request.params ?? {};
      if (typeof name !== 'string') throw invalidParams(method, `name: must be a string, got ${preview(name)}`);
      if (args !== undefined && !isJsonObject(args)) {
        throw invalidParams(method, `arguments: must be an object, got ${preview(args)}`);
      }
      return wrapped(request, context);
    };
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

type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

function invalidParams(method: string, problem: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid params of ${method}: ${problem}`);
}

/** The SDK gives what its schemas find as JSON: a list of issues, each with a path from the request on. */
function describeIssues(error: unknown): string {
  const issues = parseIssues(messageOf(error));
  return issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ') || 'not valid';
}

function parseIssues(text: string): readonly { readonly path: string; readonly message: string }[] {
  try {
    const issues: unknown = JSON.parse(text);
    return (Array.isArray(issues) ? issues : []).map(({ path, message }) => ({
      path: (Array.isArray(path) ? path.filter((part, index) => index > 0 || part !== 'params') : []).join('.'),
      message: String(message),
    }));
  } catch {
    return [];
  }
}
