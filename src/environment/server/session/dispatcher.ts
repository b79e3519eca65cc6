import type { CallToolResult } from '@modelcontextprotocol/server';
import { isJsonObject, type JsonObject, type JsonSchema } from '../../../contract/json.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import type { Audience } from '../../authoring/definition.ts';
import { type CallableTool, callTool, toFailedCall } from './call-tool.ts';
import type { EnvironmentRequest } from './request.ts';

/** A hub of a session, with the author's functions and those of the scenarios. */
export interface SessionHub {
  readonly name: string;
  readonly description: string | undefined;
  readonly audience: Audience;
  readonly functions: ReadonlyMap<string, CallableTool>;
}

/** The schema of the tool through which a hub's functions are called. */
export function dispatcherSchema(hub: SessionHub): JsonSchema & { readonly type: 'object' } {
  const names = [...hub.functions.keys()];
  return {
    type: 'object',
    properties: {
      // An empty enum is not valid JSON Schema.
      name: { type: 'string', description: 'The function to call.', ...(names.length === 0 ? {} : { enum: names }) },
      arguments: { type: 'object', description: `Its arguments, as ${functionsUri(hub)} describes them.` },
    },
    required: ['name'],
    additionalProperties: false,
  };
}

export function dispatcherDescription(hub: SessionHub): string {
  const own = hub.description === undefined ? '' : `${hub.description} `;
  return `${own}Calls one of the functions of the hub ${hub.name}: ${describeFunctions(hub)}.`;
}

export function functionsUri(hub: { readonly name: string }): string {
  return `${hub.name}://functions`;
}

/** The resource `<hub>://functions`. */
export function toFunctionList(hub: SessionHub): unknown {
  const functions = [...hub.functions.values()].map((tool) => ({
    name: tool.name,
    description: tool.description ?? '',
    input_schema: tool.input.jsonSchema,
    ...(tool.output === undefined ? {} : { output_schema: tool.output.jsonSchema }),
  }));
  return { hub: hub.name, functions };
}

/** Calls the function that the dispatcher's arguments name. For invalid arguments, the result lists the functions. */
export async function dispatch(hub: SessionHub, args: unknown, request: EnvironmentRequest): Promise<CallToolResult> {
  const call = readCall(args);
  if (typeof call === 'string') return toFailedCall(`${call} ${existing(hub)}`);
  const tool = hub.functions.get(call.name);
  if (tool === undefined) {
    return toFailedCall(`The hub ${hub.name} has no function ${preview(call.name)}. ${existing(hub)}`);
  }
  return callTool({ subject: `The function ${call.name} of the hub ${hub.name}`, ...tool }, call.arguments, request);
}

function readCall(args: unknown): { readonly name: string; readonly arguments: JsonObject } | string {
  if (!isJsonObject(args)) return 'Invalid arguments: an object with "name" and "arguments" is needed.';
  const { name, arguments: inner = null, ...others } = args;
  if (typeof name !== 'string') return `Invalid arguments: name: must be a string, got ${preview(name)}.`;
  if (inner !== null && !isJsonObject(inner)) {
    return `Invalid arguments: arguments: must be an object, got ${preview(inner)}.`;
  }
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `Invalid arguments: ${unknown}: is not an argument that exists.`;
  return { name, arguments: inner ?? {} };
}

function existing(hub: SessionHub): string {
  return `It has: ${describeFunctions(hub)}.`;
}

function describeFunctions(hub: SessionHub): string {
  return [...hub.functions.keys()].join(', ') || 'none';
}
