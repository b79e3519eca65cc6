import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { Audience, EnvironmentDefinition, Icon, ToolDefinition } from '../../authoring/definition.ts';
import { callerOf } from './call-tool.ts';
import { dispatch, dispatcherDescription, dispatcherSchema, type SessionHub } from './dispatcher.ts';
import type { EnvironmentRequest } from './request.ts';

/** A tool of a session: the author's, or the dispatcher of a hub. */
export interface SessionTool {
  readonly audience: Audience;
  readonly entry: Tool;
  call(args: unknown, request: EnvironmentRequest): Promise<CallToolResult>;
}

export function sessionTools(
  definition: EnvironmentDefinition,
  hubs: ReadonlyMap<string, SessionHub>,
): Map<string, SessionTool> {
  const tools = new Map<string, SessionTool>();
  for (const tool of definition.tools.values()) tools.set(tool.name, toSessionTool(tool));
  for (const hub of hubs.values()) tools.set(hub.name, toDispatcher(hub));
  return tools;
}

export function listTools(tools: ReadonlyMap<string, SessionTool>, onListed?: () => void): Tool[] {
  onListed?.();
  return [...tools.values()].map(({ entry }) => entry);
}

function toSessionTool(tool: ToolDefinition): SessionTool {
  const { name, title, description, annotations, icons, meta, input, output } = tool;
  return {
    audience: 'agent',
    entry: {
      name,
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description }),
      inputSchema: input.jsonSchema as Tool['inputSchema'],
      ...(output === undefined ? {} : { outputSchema: output.jsonSchema as Tool['inputSchema'] }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(icons === undefined ? {} : { icons: icons.map(toIcon) }),
      ...(meta === undefined ? {} : { _meta: meta }),
    },
    call: callerOf(tool),
  };
}

function toIcon({ sizes, ...icon }: Icon): NonNullable<Tool['icons']>[number] {
  return sizes === undefined ? icon : { ...icon, sizes: [...sizes] };
}

function toDispatcher(hub: SessionHub): SessionTool {
  return {
    audience: hub.audience,
    entry: { name: hub.name, description: dispatcherDescription(hub), inputSchema: dispatcherSchema(hub) },
    call: (args, request) => dispatch(hub, args, request),
  };
}
