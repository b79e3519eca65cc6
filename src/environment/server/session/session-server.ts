import {
  type InitializeRequest,
  mergeCapabilities,
  Server,
  type ServerContext,
  type ServerOptions,
  type Transport,
} from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../contract/json.ts';
import { META } from '../../../contract/names.ts';
import type { EnvironmentDefinition } from '../../authoring/definition.ts';
import type { Report } from '../cleanup.ts';
import { describeConnectionError } from '../describe-thrown.ts';
import { type RequestHandler, withCheckedCall, withReadableFaults } from './request-params.ts';

/** The revision without `initialize` and without sessions. */
export const MODERN_REVISION = '2026-07-28';
/** The revisions with sessions, newest first. */
export const SESSION_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/**
 * The SDK's low-level server with two changes that an environment needs. `McpServer` is not usable: its answers differ
 * for hidden and unknown tools, it looks names up in prototypes, and it shows agents every error of a handler.
 */
export class SessionServer extends Server {
  #discoverMeta: JsonObject | undefined;

  constructor(info: ConstructorParameters<typeof Server>[0], options: ServerOptions) {
    super(info, { ...options, supportedProtocolVersions: [MODERN_REVISION, ...SESSION_REVISIONS] });
  }

  /**
   * The SDK checks each message against three schemas. Requests skip this: remote transports have checked them already,
   * and in memory the peer is this process.
   */
  override async connect(transport: Transport): Promise<void> {
    const connecting = super.connect(transport);
    const receive = transport.onmessage;
    transport.onmessage = (message, extra) => {
      // biome-ignore lint/complexity/useLiteralKeys: it is private, and can be named in no other way
      if ('method' in message && 'id' in message) this['_onrequest'](message, extra);
      else receive?.(message, extra);
    };
    return connecting;
  }

  /**
   * Runs `hook` during the `initialize` request, before the SDK's answer, which gets `resultMeta` as its `_meta`. An
   * error of the hook becomes the answer.
   */
  beforeInitialize(
    hook: (params: InitializeRequest['params'], context: ServerContext) => Promise<void>,
    resultMeta: JsonObject,
  ): void {
    const answer = this._getRequestHandler('initialize');
    if (answer === undefined) throw new Error('The SDK has no handler of initialize');
    this.setRequestHandler('initialize', async (request, context) => {
      await hook(request.params, context);
      const result = await answer({ jsonrpc: '2.0', id: context.mcpReq.id, ...request }, context);
      return { ...result, _meta: resultMeta } as never;
    });
  }

  protected override _wrapHandler(method: string, handler: RequestHandler): RequestHandler {
    // The SDK checks the parameters of a tool call itself, before the handler runs, so the check has to wrap it.
    if (method === 'tools/call') return withCheckedCall(super._wrapHandler(method, handler));
    const wrapped = super._wrapHandler(method, withReadableFaults(method, handler));
    if (method !== 'server/discover') return wrapped;
    // Done here because the SDK sets this handler again when it connects. It also sets it in the constructor, before
    // `_meta` is known.
    return async (request, context) => {
      const result = await wrapped(request, context);
      return this.#discoverMeta === undefined
        ? result
        : { ...result, _meta: { ...result._meta, ...this.#discoverMeta } };
    };
  }

  /**
   * Serves one long-lived instance on the revision without a handshake. Only for transports that classify messages.
   *
   * @param resultMeta is `_meta` of the answer to `server/discover`, which runs no hook.
   */
  serveModern(resultMeta: JsonObject): void {
    this._negotiatedProtocolVersion = MODERN_REVISION;
    this.#discoverMeta = resultMeta;
  }
}

/** The revision for a client that asks for `requested`. */
export function negotiatedRevision(requested: string): string {
  return SESSION_REVISIONS.find((revision) => revision === requested) ?? SESSION_REVISIONS[0];
}

/** `_meta` of the answer to `initialize` and to `server/discover`. */
export function handshakeMeta({ sessionsPerProcess, unsandboxed, sandboxes }: EnvironmentDefinition): JsonObject {
  return {
    [META.sessionsPerProcess]: sessionsPerProcess,
    ...(unsandboxed && { [META.unsandboxed]: true }),
    ...(sandboxes.size > 0 && { [META.sandboxes]: true }),
  };
}

/** Makes the SDK server of one session with the author's name, version and options. */
export function createSessionServer(definition: EnvironmentDefinition, report: Report): SessionServer {
  const { name, version, instructions, serverOptions } = definition;
  const given = Object.entries(serverOptions);
  const info = { name, version, ...Object.fromEntries(given.filter(([key]) => INFO_OPTIONS.has(key))) };
  const { capabilities, ...options } = Object.fromEntries(given.filter(([key]) => !INFO_OPTIONS.has(key)));
  const own = {
    tools: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    prompts: { listChanged: true },
    completions: {},
    logging: {},
  };
  const server = new SessionServer(info, {
    ...options,
    ...(instructions === undefined ? {} : { instructions }),
    capabilities: mergeCapabilities(own, (capabilities ?? {}) as typeof own),
  });
  server.onerror = (error) => report(describeConnectionError(error));
  return server;
}

/** Constructor options that the SDK expects in the server's information. */
const INFO_OPTIONS: ReadonlySet<string> = new Set(['title', 'websiteUrl', 'icons', 'description']);
