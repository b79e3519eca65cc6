import type { CreateMessageRequestParamsBase, ServerContext } from '@modelcontextprotocol/server';
import type { ToolContext } from '../environment/definition.ts';
import { toMcpMessages } from './mcp-messages.ts';
import type { SessionServer } from './session-server.ts';

/** A person, or a model with a queue, may take their time. */
const ANSWER_TIMEOUT_MS = 600_000;

type ElicitParams = Parameters<SessionServer['elicitInput']>[0];

/** What author code may ask of the client, and of whoever sits behind it, while the client's own request is open. */
export function createClientRequests(
  mcp: ServerContext,
  server: SessionServer,
): Pick<ToolContext, 'elicit' | 'sample'> {
  const options = { relatedRequestId: mcp.mcpReq.id, signal: mcp.mcpReq.signal, timeout: ANSWER_TIMEOUT_MS };
  return {
    async elicit(request) {
      assertSupported(mcp, server, 'elicitation');
      const params = { message: request.message, requestedSchema: request.requestedSchema } as ElicitParams;
      const { action, content } = await server.elicitInput(params, options);
      return { action, ...(content === undefined ? {} : { content: { ...content } }) };
    },
    async sample(request) {
      assertSupported(mcp, server, 'sampling');
      const params: CreateMessageRequestParamsBase = {
        messages: toMcpMessages(request.messages),
        maxTokens: request.maxTokens,
        ...(request.systemPrompt === undefined ? {} : { systemPrompt: request.systemPrompt }),
      };
      const { role, content, model } = await server.createMessage(params, options);
      return { role, content: { ...content }, model };
    },
  };
}

function assertSupported(mcp: ServerContext, server: SessionServer, capability: 'elicitation' | 'sampling'): void {
  if (mcp.mcpReq.envelope !== undefined) {
    throw new Error(`This client speaks MCP 2026-07-28, on which ${capability} is not available here`);
  }
  if (server.getClientCapabilities()?.[capability] === undefined) {
    throw new Error(`This client does not offer ${capability}`);
  }
}
