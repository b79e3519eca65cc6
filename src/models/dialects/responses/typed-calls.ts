import type { ToolCall } from '../../../contract/chat.ts';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import { toArguments } from '../call-arguments.ts';

/**
 * A tool that OpenAI defines and the agent runs. Its calls have their own item type with the arguments in one field.
 * Other models get a function with a schema.
 */
interface TypedTool {
  readonly field: string;
  readonly description: string;
  readonly schema: JsonObject;
}

const TEXT = { type: 'string' };
const TEXTS = { type: 'array', items: TEXT };

const TOOLS: ReadonlyMap<string, TypedTool> = new Map(
  Object.entries({
    local_shell: {
      field: 'action',
      description: 'Runs a command on the machine of the agent. `command` is the program and its arguments.',
      schema: {
        type: 'object',
        properties: { command: TEXTS, timeout_ms: { type: 'integer' }, working_directory: TEXT },
        required: ['command'],
      },
    },
    shell: {
      field: 'action',
      description: 'Runs shell commands on the machine of the agent, one after the other.',
      schema: {
        type: 'object',
        properties: { commands: TEXTS, timeout_ms: { type: 'integer' }, max_output_length: { type: 'integer' } },
        required: ['commands'],
      },
    },
    apply_patch: {
      field: 'operation',
      description: 'Changes one file. `diff` is in the V4A format: lines that begin with a blank, `+` or `-`.',
      schema: {
        type: 'object',
        properties: {
          type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
          path: TEXT,
          diff: TEXT,
        },
        required: ['type', 'path'],
      },
    },
  }),
);

/** The typed tool if the agent runs it itself; undefined for a shell in the provider's container. */
export function typedTool(tool: JsonObject): TypedTool | undefined {
  const { environment } = tool;
  const isHosted = isJsonObject(environment) && environment.type !== 'local';
  return typeof tool.type === 'string' && !isHosted ? TOOLS.get(tool.type) : undefined;
}

/** The typed call in an item; undefined for other items. */
export function readTypedCall(
  item: JsonObject,
): { readonly tool: string; readonly args: ReturnType<typeof toArguments> } | undefined {
  const tool = /^(\w+)_call$/.exec(String(item.type))?.[1] ?? '';
  const typed = TOOLS.get(tool);
  if (typed === undefined) return undefined;
  const payload = isJsonObject(item[typed.field]) ? { ...(item[typed.field] as JsonObject) } : {}; // Checked before.
  if (tool === 'local_shell') delete payload.type;
  return { tool, args: toArguments(payload) };
}

/** Fields of a call's item, without its ids. */
export function toTypedCall(tool: string, call: ToolCall): JsonObject {
  const payload = tool === 'local_shell' ? { type: 'exec', env: {}, ...call.arguments } : call.arguments;
  return { type: `${tool}_call`, [TOOLS.get(tool)?.field ?? 'action']: payload };
}
