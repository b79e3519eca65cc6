import type { JsonObject } from '../../contract/json.ts';
import type { Awaitable, Icon, ToolAnnotations, ToolContext, ToolDefinition } from './definition.ts';
import { checkName } from './names.ts';
import { checkPresentation } from './presentation.ts';
import { compileSchema } from './schema/schema.ts';
import type { AnySchema, ArgsOf, InputOf, NoArgs } from './schema/schema-types.ts';

/** Options of a tool. Without `args` it takes no arguments. */
export interface ToolConfig<Args extends AnySchema = NoArgs, Returns extends AnySchema | undefined = undefined> {
  readonly description?: string;
  readonly title?: string;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  /** `_meta` of the tool's entry in the list, for clients that know its keys. */
  readonly meta?: JsonObject;
  readonly args?: Args;
  /** The schema of the handler's return value, an object or a list. It becomes the tool's output schema. */
  readonly returns?: Returns;
}

/**
 * Runs a tool. The schema has read `args`. The agent sees the message of a `ToolError` that the handler throws.
 * `Returned` is inferred from the handler.
 */
export type ToolHandler<Args extends AnySchema, Returns extends AnySchema | undefined, Returned = unknown> = (
  args: ArgsOf<Args>,
  context: ToolContext,
) => ToolReturn<Returns, Returned>;

/**
 * The return type of a handler. With `returns`, it is the input type of that schema. Otherwise it is text, a number, a
 * boolean, an object or list for JSON, an image, or nothing.
 */
export type ToolReturn<Returns extends AnySchema | undefined, Returned> = Returns extends AnySchema
  ? Awaitable<InputOf<Returns>>
  : Returned & NoInfer<CheckedReturn<Returned>>;

type CheckedReturn<Returned> =
  Returned extends PromiseLike<infer Value> ? Promise<Sendable<Value>> : Sendable<Returned>;

/** The value type itself, or a sentence that the editor shows if JSON cannot hold the value. */
type Sendable<Value> =
  Value extends ReadonlyMap<unknown, unknown>
    ? 'A tool cannot return a Map: return Object.fromEntries(map)'
    : Value extends ReadonlySet<unknown>
      ? 'A tool cannot return a Set: return [...set]'
      : Value extends AnyFunction
        ? 'A tool cannot return a function: return text, or what JSON can hold'
        : Value extends bigint | symbol
          ? // An object, because the editor would show only `never` for a value that is both a bigint and a text.
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
    // The cast is safe because the schema has read the arguments.
    handler: handler as ToolDefinition['handler'],
  };
}

/** An empty shape, for no arguments. */
export const NO_ARGS: NoArgs = {};
