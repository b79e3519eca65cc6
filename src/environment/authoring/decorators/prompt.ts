import type { Awaitable, ToolContext } from '../definition.ts';
import type { EnvironmentServer } from '../environment-server.ts';
import type { PromptConfig, RichPrompt } from '../prompt.ts';
import type { AnySchema, ArgsOf, NoArgs } from '../schema/schema-types.ts';
import { type Method, type MethodContext, registerMethod } from './method.ts';

type MethodArgs<Args extends AnySchema> = [args: ArgsOf<Args>, context: ToolContext];

/** Makes a method of an environment an MCP prompt. Its name is `name`, or that of the method. */
export function prompt<const Args extends AnySchema = NoArgs>(
  config: PromptConfig<Args> & { readonly name?: string } = {},
) {
  return <This extends EnvironmentServer>(
    method: Method<This, MethodArgs<Args>, Awaitable<RichPrompt>>,
    context: MethodContext<This, MethodArgs<Args>, Awaitable<RichPrompt>>,
  ): void => {
    registerMethod('prompt', method, context, (environment, call, methodName) => {
      environment.prompt(config.name ?? methodName, config, call);
    });
  };
}
