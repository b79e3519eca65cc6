import { z } from 'zod';
import type { AgentTool } from '../../../contract/chat.ts';
import { isJsonObject, type JsonObject, jsonSchemaSchema } from '../../../contract/json.ts';

const contentsSchema = z.array(z.object({ uri: z.string(), text: z.string() }));
const listSchema = z.object({
  hub: z.string(),
  functions: z.array(z.object({ name: z.string(), description: z.string(), input_schema: jsonSchemaSchema })),
});

/** The functions of a hub in a resource's contents, as tools; empty for another resource. */
export function hubFunctionsIn(contents: unknown): readonly { readonly hub: string; readonly tool: AgentTool }[] {
  const parsed = contentsSchema.safeParse(contents);
  return (parsed.data ?? []).flatMap(({ uri, text }) => {
    if (!uri.endsWith('://functions')) return [];
    const list = listSchema.safeParse(parseJson(text));
    return (list.data?.functions ?? []).map((tool) => ({ hub: list.data?.hub ?? '', tool }));
  });
}

/** The name of the called tool; `hub.function` for a call through a hub. */
export function calledTool(name: string, args: JsonObject, tools: readonly AgentTool[]): string {
  const { properties } = tools.find((tool) => tool.name === name)?.input_schema ?? {};
  const isDispatcher = isJsonObject(properties) && isJsonObject(properties.name) && 'arguments' in properties;
  return isDispatcher && typeof args.name === 'string' ? `${name}.${args.name}` : name;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
