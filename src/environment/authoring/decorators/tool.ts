import type { ToolContext } from '../definition.ts';
import type { AnySchema, ArgsOf, NoArgs } from '../schema/schema-types.ts';
import type { ToolConfig, ToolHandler, ToolReturn } from '../tool.ts';
import { type Method, type MethodContext, registerMethod } from './method.ts';

/** A class with a `tool` method: an environment or a hub. */
interface ToolOwner {
  tool<Args extends AnySchema, Returns extends AnySchema | undefined, Returned>(
    name: string,
    config: ToolConfig<Args, Returns>,
    handler: ToolHandler<Args, Returns, Returned>,
  ): unknown;
}

type MethodArgs<Args extends AnySchema> = [args: ArgsOf<Args>, context: ToolContext];

/**
 * Makes a method of an environment or a hub a tool. Its name is `name`, or that of the method. TypeScript checks the
 * types of its parameters against `args` but does not infer them.
 *
 * @example
 * ```ts
 * @tool({ description: 'Says what can be seen.' })
 * look(): string {
 *   return this.#size === '' ? 'It is dark.' : `A light of ${this.#size}.`;
 * }
 * ```
 */
export function tool<const Args extends AnySchema = NoArgs, const Returns extends AnySchema | undefined = undefined>(
  config: ToolConfig<Args, Returns> & { readonly name?: string } = {},
) {
  return <This extends ToolOwner, Returned>(
    method: Method<This, MethodArgs<Args>, ToolReturn<Returns, Returned>>,
    context: MethodContext<This, MethodArgs<Args>, ToolReturn<Returns, Returned>>,
  ): void => {
    registerMethod('tool', method, context, (owner, call, methodName) => {
      owner.tool(config.name ?? methodName, config, call);
    });
  };
}
