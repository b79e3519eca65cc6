import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { META, SCENARIOS_URI } from '../../contract/names.ts';
import type { Audience } from '../../environment/definition.ts';
import { isVisible, type Meta } from '../audience.ts';
import { assertParamHeaders, isHeaderSource, paramHeadersOf, passedParamHeaders } from '../param-headers.ts';
import type { ActiveScenario } from './active-scenario.ts';
import { complete, findCompleters } from './completions.ts';
import { toProtocolError } from './failures.ts';
import type { Called, InputRequired } from './input-required.ts';
import { listPrompts } from './prompts.ts';
import type { EnvironmentRequest } from './request.ts';
import { findResource, listResources, listResourceTemplates, readResource } from './resources.ts';
import type { SessionCatalogue } from './session-catalogue.ts';
import type { SessionServer } from './session-server.ts';
import { listTools, type SessionTool } from './session-tools.ts';
import type { Subscriptions } from './subscriptions.ts';

export interface SessionParts {
  readonly server: SessionServer;
  readonly catalogue: SessionCatalogue;
  readonly active: ActiveScenario;
  readonly inputRequired: InputRequired;
  /** Undefined on 2026-07-28, where a client subscribes by a stream of its own. */
  readonly subscriptions: Subscriptions | undefined;
  /** The name of the session that `setup` answers, where the client has to send one with each request. */
  readonly handle: string | undefined;
  /** Lets a request in. @throws ProtocolError before the handshake. */
  admit(mcp: ServerContext): EnvironmentRequest | Promise<EnvironmentRequest>;
  /** Makes sure that the initialize hook has run. @throws ProtocolError when it fails. */
  ensureInitialized(mcp: ServerContext, request: EnvironmentRequest): Promise<void> | undefined;
  /** Makes sure that what is connected is there, lists included. @throws ProtocolError when a server is not. */
  ensureConnected(request: EnvironmentRequest): Promise<void> | undefined;
}

/**
 * Serves an environment to one session. Names are looked up in maps, and what an audience may not see is answered by the
 * same words as what does not exist: the two cannot be told apart.
 */
export function bindEnvironment(parts: SessionParts): void {
  const { server, catalogue, inputRequired } = parts;
  const mayUse = (name: string, audience: Audience) => audience === 'harness' || parts.active.allowsTool(name);

  // Most calls have nothing to wait for here. An `await` without need would cost them a microtask each.
  const serve = async <T>(mcp: ServerContext, run: (request: EnvironmentRequest) => Promise<T>): Promise<T> => {
    const admitted = parts.admit(mcp);
    const request = admitted instanceof Promise ? await admitted : admitted;
    try {
      const connecting = parts.ensureConnected(request);
      if (connecting !== undefined) await connecting;
      return await run(request);
    } catch (error) {
      throw toProtocolError('The request', request, error);
    } finally {
      const finishing = request.finish();
      if (finishing !== undefined) await finishing;
    }
  };
  /** Runs author code that may ask the client something, for whom it is there. */
  const ask = async <T>(
    called: Called,
    mcp: ServerContext,
    request: EnvironmentRequest,
    run: (request: EnvironmentRequest) => Promise<T>,
  ) => {
    const initializing = parts.ensureInitialized(mcp, request);
    if (initializing !== undefined) await initializing;
    return inputRequired.serve(called, mcp, request, run);
  };

  server.setRequestHandler('tools/list', ({ params }, mcp) =>
    serve(mcp, async ({ audience }) => {
      refuseCursor(params);
      return { tools: listTools(catalogue.tools, audience).filter(({ name }) => mayUse(name, audience)) };
    }),
  );

  server.setRequestHandler('tools/call', ({ params }, mcp) =>
    serve(mcp, async (request) => {
      const { name, arguments: args = {} } = params;
      const tool = catalogue.tools.get(name);
      if (tool === undefined || !isVisible(tool, request.audience) || !mayUse(name, request.audience)) {
        throw unknown('tool', name);
      }
      if (mcp.mcpReq.envelope !== undefined) checkParamHeaders(tool, args, mcp, server);
      const called = { method: 'tools/call', name, arguments: args } as const;
      const result = await ask(called, mcp, request, async (open) =>
        server.projectCallToolResult(await tool.call(args, open), tool.entry.outputSchema),
      );
      const isOfHandle = parts.handle !== undefined && name === 'setup';
      return isOfHandle ? { ...result, _meta: { [META.sessionId]: parts.handle } } : result;
    }),
  );

  server.setRequestHandler('resources/list', ({ params }, mcp) =>
    serve(mcp, async ({ audience }) => {
      refuseCursor(params);
      return { resources: listResources(catalogue.resources, audience) };
    }),
  );

  server.setRequestHandler('resources/templates/list', ({ params }, mcp) =>
    serve(mcp, async ({ audience }) => {
      refuseCursor(params);
      return { resourceTemplates: listResourceTemplates(catalogue.resources, audience) };
    }),
  );

  server.setRequestHandler('resources/read', ({ params }, mcp) =>
    serve(mcp, async (request) => {
      const { uri } = params;
      const found = findResource(catalogue.resources, uri, request.audience);
      if (found === undefined) throw unknown('resource', uri);
      const { resource, variables } = found;
      if (resource.isBuiltIn) {
        const read = await readResource(resource, uri, variables, request);
        return uri === SCENARIOS_URI && request.audience === 'harness' ? withWarnings(read, catalogue) : read;
      }
      const called = { method: 'resources/read', name: uri, arguments: {} } as const;
      return ask(called, mcp, request, (open) => readResource(resource, uri, variables, open));
    }),
  );

  if (parts.subscriptions !== undefined) bindSubscriptions(parts, parts.subscriptions, serve);

  server.setRequestHandler('prompts/list', ({ params }, mcp) =>
    serve(mcp, async ({ audience }) => {
      refuseCursor(params);
      return { prompts: listPrompts(catalogue.prompts, audience) };
    }),
  );

  server.setRequestHandler('prompts/get', ({ params }, mcp) =>
    serve(mcp, async (request) => {
      const { name, arguments: args = {} } = params;
      const prompt = catalogue.prompts.get(name);
      if (prompt === undefined || !isVisible(prompt, request.audience)) throw unknown('prompt', name);
      const called = { method: 'prompts/get', name, arguments: args } as const;
      return ask(called, mcp, request, (open) => prompt.get(args, open));
    }),
  );

  server.setRequestHandler('completion/complete', ({ params }, mcp) =>
    serve(mcp, async (request) => {
      const found = findCompleters(params, catalogue, request);
      await parts.ensureInitialized(mcp, request);
      return complete(params, found, request);
    }),
  );
}

type Serve = <T>(mcp: ServerContext, run: (request: EnvironmentRequest) => Promise<T>) => Promise<T>;

/** Subscriptions of the session-based revisions. */
function bindSubscriptions(
  { server, catalogue }: SessionParts,
  subscriptions: NonNullable<SessionParts['subscriptions']>,
  serve: Serve,
): void {
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }, mcp) =>
    serve(mcp, async ({ audience }) => {
      const found = findResource(catalogue.resources, uri, audience);
      if (found === undefined) throw unknown('resource', uri);
      subscriptions.add(uri);
      await found.resource.connected?.subscribe(uri);
      return {};
    }),
  );
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }, mcp) =>
    serve(mcp, async ({ audience }) => {
      if (findResource(catalogue.resources, uri, audience) === undefined) throw unknown('resource', uri);
      subscriptions.remove(uri);
      return {};
    }),
  );
}

/** Tells a harness which scenarios name no tool. */
function withWarnings(read: ReadResourceResult, catalogue: SessionParts['catalogue']): ReadResourceResult {
  const warnings = catalogue.unmatchedPatterns();
  return warnings.length === 0 ? read : { ...read, _meta: { ...read._meta, [META.scenarioWarnings]: warnings } };
}

/** On 2026-07-28 over HTTP, headers repeat arguments of a tool whose schema says so: the two have to agree. */
function checkParamHeaders(tool: SessionTool, args: unknown, { mcpReq }: ServerContext, { transport }: SessionServer) {
  const declared = paramHeadersOf(tool.entry.inputSchema);
  if (declared.length === 0) return;
  const headers = isHeaderSource(transport)
    ? transport.headersOf(mcpReq.id)
    : passedParamHeaders(mcpReq._meta as Meta | undefined);
  if (headers !== undefined) assertParamHeaders(declared, args, headers);
}

function unknown(kind: 'tool' | 'resource' | 'prompt', name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown ${kind}: ${name}`);
}

/** Lists come whole, so that every cursor is one that this server never gave. */
function refuseCursor(params: { readonly cursor?: string | undefined } | undefined): void {
  if (params?.cursor === undefined) return;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown cursor: lists of this server have one page');
}
