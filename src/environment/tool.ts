import type { JsonObject } from '../contract/json.ts';
import type { Awaitable, Icon, ToolAnnotations, ToolContext, ToolDefinition } from './definition.ts';
import { checkName } from './names.ts';
import { checkPresentation } from './presentation.ts';
import { compileSchema } from './schema.ts';
import type { AnySchema, ArgsOf, InputOf, NoArgs } from './schema-types.ts';

/** Options of a tool beside its name and its handler. Without `args` it takes no arguments. */
export interface ToolConfig<Args extends AnySchema = NoArgs, Returns extends AnySchema | undefined = undefined> {
  readonly description?: string;
  readonly title?: string;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  /** `_meta` of the tool's entry in the list, for clients that know its keys. */
  readonly meta?: JsonObject;
  readonly args?: Args;
  /** The schema of what the handler returns, an object or a list; it becomes the tool's output schema. */
  readonly returns?: Returns;
}

/**
 * Runs a tool with arguments that its schema has read. A `ToolError` that it throws is shown to the agent as it is.
 * `Returned` is inferred from the handler.
 */
export type ToolHandler<Args extends AnySchema, Returns extends AnySchema | undefined, Returned = unknown> = (
  args: ArgsOf<Args>,
  context: ToolContext,
) => ToolReturn<Returns, Returned>;

/** Text, a number, a boolean, an object or a list for JSON, an image or nothing; with `returns`, what its schema takes. */
export type ToolReturn<Returns extends AnySchema | undefined, Returned> = Returns extends AnySchema
  ? Awaitable<InputOf<Returns>>
  : Returned & NoInfer<CheckedReturn<Returned>>;

type CheckedReturn<Returned> =
  Returned extends PromiseLike<infer Value> ? Promise<Sendable<Value>> : Sendable<Returned>;

/** The value itself; a sentence for the editor where JSON cannot hold it. */
type Sendable<Value> =
  Value extends ReadonlyMap<unknown, unknown>
    ? 'A tool cannot return a Map: return Object.fromEntries(map)'
    : Value extends ReadonlySet<unknown>
      ? 'A tool cannot return a Set: return [...set]'
      : Value extends AnyFunction
        ? 'A tool cannot return a function: return text, or what JSON can hold'
        : Value extends bigint | symbol
          ? // In an object, because no value is a bigint and this sentence: the editor would show `never` alone.
            { readonly refused: 'A tool cannot return a bigint or a symbol: return text' }
          : Value;

type AnyFunction = ((...args: never) => unknown) | (abstract new (...args: never) => unknown);

/** A tool as one object, for `addTool`. */
export interface ToolObject<
  Args extends AnySchema = NoArgs,
  Returns extends AnySchema | undefined = undefined,
  Returned = unknown,
> extends ToolConfig<Args, Returns> {
  readonly name: string;
  readonly handler: ToolHandler<Args, Returns, Returned>;
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
  handler: (args: ArgsOf<Args>, context: ToolContext) => unknown,
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
    output:
      config.returns && compileSchema(config.returns, `${label}, returns`, { side: 'output', root: 'structured' }),
    // The schema has read the arguments: that they are `ArgsOf<Args>` is what it was compiled for.
    handler: handler as ToolDefinition['handler'],
  };
}

/** The raw shape without a field. */
export const NO_ARGS: NoArgs = {};
