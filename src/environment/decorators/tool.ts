import type { Awaitable, ToolContext } from '../definition.ts';
import type { AnySchema, ArgsOf, NoArgs } from '../schema-types.ts';
import type { ToolConfig, ToolHandler, ToolReturn } from '../tool.ts';
import { type Method, type MethodContext, registerMethod } from './method.ts';

/** What tools can be added to: an environment, or a hub. */
interface ToolOwner {
  tool<Args extends AnySchema, Returns extends AnySchema | undefined>(
    name: string,
    config: ToolConfig<Args, Returns>,
    handler: ToolHandler<Args, Returns>,
  ): unknown;
}

type MethodArgs<Args extends AnySchema> = [args: ArgsOf<Args>, context: ToolContext];

/**
 * Makes a method of an environment, or of a hub, a tool of its name, or of `name`. The types of its parameters are
 * checked against `args`; TypeScript does not infer them.
 */
export function tool<const Args extends AnySchema = NoArgs, const Returns extends AnySchema | undefined = undefined>(
  config: ToolConfig<Args, Returns> & { readonly name?: string } = {},
) {
  return <This extends ToolOwner>(
    method: Method<This, MethodArgs<Args>, Awaitable<ToolReturn<Returns>>>,
    context: MethodContext<This, MethodArgs<Args>, Awaitable<ToolReturn<Returns>>>,
  ): void => {
    registerMethod('tool', method, context, (owner, call, methodName) => {
      owner.tool(config.name ?? methodName, config, call);
    });
  };
}
