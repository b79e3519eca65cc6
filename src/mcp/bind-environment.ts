import { ProtocolError, ProtocolErrorCode, type ServerContext } from '@modelcontextprotocol/server';
import { META } from '../contract/names.ts';
import type { Audience, EnvironmentDefinition } from '../environment/definition.ts';
import type { ActiveScenario } from './active-scenario.ts';
import { isVisible } from './audience.ts';
import { orProtocolError } from './failures.ts';
import { listPrompts, sessionPrompts } from './prompts.ts';
import type { EnvironmentRequest } from './request.ts';
import { findResource, listResources, listResourceTemplates, readResource, sessionResources } from './resources.ts';
import type { RunningSolution } from './running-solution.ts';
import { sessionHubs } from './scenario-functions.ts';
import type { SessionServer } from './session-server.ts';
import { listTools, sessionTools } from './session-tools.ts';

export interface SessionParts {
  readonly definition: EnvironmentDefinition;
  readonly server: SessionServer;
  readonly active: ActiveScenario;
  readonly solution: RunningSolution;
  /** The name of the session that `setup` answers, where the client has to send one with each request. */
  readonly handle: string | undefined;
  /** Lets a request in. @throws ProtocolError before the handshake. */
  admit(mcp: ServerContext): Promise<EnvironmentRequest>;
  /** Makes sure that the initialize hook has run. @throws ProtocolError when it fails. */
  ensureInitialized(mcp: ServerContext, request: EnvironmentRequest): Promise<void>;
}

/**
 * Serves a definition to one session. Names are looked up in maps, and what an audience may not see is answered by the
 * same words as what does not exist: the two cannot be told apart.
 */
export function bindEnvironment(parts: SessionParts): void {
  const { definition, server } = parts;
  const hubs = sessionHubs(definition, parts);
  const tools = sessionTools(definition, hubs);
  const resources = sessionResources(definition, hubs);
  const prompts = sessionPrompts(definition, parts.active);
  const mayUse = (name: string, audience: Audience) => audience === 'harness' || parts.active.allowsTool(name);

  const serve = async <T>(mcp: ServerContext, run: (request: EnvironmentRequest) => Promise<T>): Promise<T> => {
    const request = await parts.admit(mcp);
    try {
      return await orProtocolError('The request', request, () => run(request));
    } finally {
      await request.finish();
    }
  };

  server.setRequestHandler('tools/list', ({ params }, mcp) =>
    serve(mcp, async ({ audience }) => {
      refuseCursor(params);
      return { tools: listTools(tools, audience).filter(({ name }) => mayUse(name, audience)) };
    }),
  );

  server.setRequestHandler('tools/call', ({ params }, mcp) =>
    serve(mcp, async (request) => {
      const tool = tools.get(params.name);
      if (tool === undefined || !isVisible(tool, request.audience) || !mayUse(params.name, request.audience)) {
        throw unknown('tool', params.name);
      }
      await parts.ensureInitialized(mcp, request);
      const result = await tool.call(params.arguments ?? {}, request);
      const meta =
        parts.handle === undefined || params.name !== 'setup' ? {} : { _meta: { [META.sessionId]: parts.handle } };
      return server.projectCallToolResult({ ...result, ...meta }, tool.entry.outputSchema);
    }),
  );

  server.setRequestHandler('resources/list', ({ params }, mcp) =>
    serve(mcp, async ({ audience }) => {
      refuseCursor(params);
      return { resources: listResources(resources, audience) };
    }),
  );

  server.setRequestHandler('resources/templates/list', ({ params }, mcp) =>
    serve(mcp, async ({ audience }) => {
      refuseCursor(params);
      return { resourceTemplates: listResourceTemplates(resources, audience) };
    }),
  );

  server.setRequestHandler('resources/read', ({ params }, mcp) =>
    serve(mcp, async (request) => {
      const found = findResource(resources, params.uri, request.audience);
      if (found === undefined) throw unknown('resource', params.uri);
      if (!found.resource.isBuiltIn) await parts.ensureInitialized(mcp, request);
      return readResource(found.resource, params.uri, found.variables, request);
    }),
  );

  server.setRequestHandler('prompts/list', ({ params }, mcp) =>
    serve(mcp, async ({ audience }) => {
      refuseCursor(params);
      return { prompts: listPrompts(prompts, audience) };
    }),
  );

  server.setRequestHandler('prompts/get', ({ params }, mcp) =>
    serve(mcp, async (request) => {
      const prompt = prompts.get(params.name);
      if (prompt === undefined || !isVisible(prompt, request.audience)) throw unknown('prompt', params.name);
      await parts.ensureInitialized(mcp, request);
      return prompt.get(params.arguments ?? {}, request);
    }),
  );
}

function unknown(kind: 'tool' | 'resource' | 'prompt', name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown ${kind}: ${name}`);
}

/** Lists come whole, so that every cursor is one that this server never gave. */
function refuseCursor(params: { readonly cursor?: string | undefined } | undefined): void {
  if (params?.cursor === undefined) return;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown cursor: lists of this server have one page');
}
