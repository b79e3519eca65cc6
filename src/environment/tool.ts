import type { JsonObject } from '../contract/json.ts';
import type { Awaitable, Icon, ToolAnnotations, ToolContext, ToolDefinition } from './definition.ts';
import { checkName } from './names.ts';
import { checkPresentation } from './presentation.ts';
import { compileSchema } from './schema.ts';
import type { AnySchema, ArgsOf, InputOf, NoArgs } from './schema-types.ts';

/** What a tool is besides its name and its handler. Without `args` it takes none. */
export interface ToolConfig<Args extends AnySchema = NoArgs, Returns extends AnySchema | undefined = undefined> {
  readonly description?: string;
  readonly title?: string;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  /** `_meta` of the tool's entry in the list, for clients that know its keys. */
  readonly meta?: JsonObject;
  readonly args?: Args;
  /** The schema of what the handler returns; it becomes the tool's output schema. */
  readonly returns?: Returns;
}

/** Runs a tool with arguments that its schema has read. A `ToolError` that it throws is shown to the agent as it is. */
export type ToolHandler<Args extends AnySchema, Returns extends AnySchema | undefined> = (
  args: ArgsOf<Args>,
  context: ToolContext,
) => Awaitable<ToolReturn<Returns>>;

/** Text, a number, a boolean, a plain object, an array, an image or nothing; with `returns`, what its schema takes. */
export type ToolReturn<Returns extends AnySchema | undefined> = Returns extends AnySchema
  ? InputOf<Returns>
  : // biome-ignore lint/suspicious/noConfusingVoidType: a handler may return nothing
    string | number | boolean | object | null | undefined | void;

/** A tool as one object, for `addTool`. */
export interface ToolObject<Args extends AnySchema = NoArgs, Returns extends AnySchema | undefined = undefined>
  extends ToolConfig<Args, Returns> {
  readonly name: string;
  readonly handler: ToolHandler<Args, Returns>;
}

/**
 * Compiles a tool.
 *
 * @param where starts the messages of errors, such as `Tool`, or `Hub "setup", function`.
 * @throws TypeError for a bad name, schema or handler.
 */
export function defineTool<Args extends AnySchema, Returns extends AnySchema | undefined>(
  where: string,
  name: string,
  config: ToolConfig<Args, Returns>,
  handler: ToolHandler<Args, Returns>,
): ToolDefinition {
  checkName(where, name);
  const label = `${where} "${name}"`;
  if (typeof handler !== 'function') {
    throw new TypeError(`${label}: the handler has to be a function, got ${typeof handler}`);
  }
  checkPresentation(label, config);
  return {
    name,
    title: config.title,
    description: config.description,
    annotations: config.annotations,
    icons: config.icons,
    meta: config.meta,
    input: compileSchema(config.args ?? NO_ARGS, `${label}, args`),
    output: config.returns && compileSchema(config.returns, `${label}, returns`, { side: 'output' }),
    // The schema has read the arguments: that they are `ArgsOf<Args>` is what it was compiled for.
    handler: (args, context) => handler(args as ArgsOf<Args>, context),
  };
}

/** The raw shape without a field. */
export const NO_ARGS: NoArgs = {};
