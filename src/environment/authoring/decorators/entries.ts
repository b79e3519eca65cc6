import type { Awaitable, ToolContext } from '../definition.ts';
import type { EnvironmentServer } from '../environment-server.ts';
import type { PromptConfig, RichPrompt } from '../prompt.ts';
import type { ResourceConfig, UriVariables } from '../resource.ts';
import type { AnswerOf, ScenarioConfig, ScenarioGenerator } from '../scenario.ts';
import type { AnySchema, ArgsOf, NoArgs } from '../schema/schema-types.ts';
import type { ToolConfig, ToolHandler, ToolReturn } from '../tool.ts';
import { type Method, type MethodContext, registerMethod } from './method.ts';

type MethodArgs<Args extends AnySchema> = [args: ArgsOf<Args>, context: ToolContext];
type ResourceArgs<Uri extends string> = [variables: UriVariables<Uri>, context: ToolContext];

/** A class with a `tool` method: an environment or a hub. */
interface ToolOwner {
  tool<Args extends AnySchema, Returns extends AnySchema | undefined, Returned>(
    name: string,
    config: ToolConfig<Args, Returns>,
    handler: ToolHandler<Args, Returns, Returned>,
  ): unknown;
}

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

/**
 * Makes an async generator method of an environment a scenario. Its name is `name`, or that of the method. Its return
 * type is `ScenarioGenerator` (with the type of a structured answer), so a forgotten reward does not compile.
 *
 * @example
 * ```ts
 * @scenario({
 *   name: 'count_to',
 *   description: 'Count from 0 to a target.',
 *   args: CountTo,
 *   tasks: COUNT_TASKS,
 *   solution: ({ target }) => ({
 *     calls: target === 0 ? [] : [{ name: 'increment', arguments: { by: target } }],
 *     answer: `The counter shows ${target}.`,
 *   }),
 * })
 * async *countTo({ target }: z.output<typeof CountTo>): ScenarioGenerator {
 *   this.#count = 0;
 *   yield `Make the counter show exactly ${target}, then say that you are done. It shows 0 now.`;
 *   return this.#evaluate(target);
 * }
 * ```
 */
export function scenario<const Args extends AnySchema = NoArgs, const Answer extends AnySchema | undefined = undefined>(
  config: ScenarioConfig<Args, Answer> & { readonly name?: string } = {},
) {
  return <This extends EnvironmentServer>(
    method: Method<This, MethodArgs<Args>, ScenarioGenerator<AnswerOf<Answer>>>,
    context: MethodContext<This, MethodArgs<Args>, ScenarioGenerator<AnswerOf<Answer>>>,
  ): void => {
    registerMethod('scenario', method, context, (environment, call, methodName) => {
      environment.scenario(config.name ?? methodName, config, call);
    });
  };
}

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

/** Makes a method of an environment the handler of a resource, or of a template such as `notes://{id}`. */
export function resource<const Uri extends string>(uri: Uri, config: ResourceConfig<Uri> = {}) {
  return <This extends EnvironmentServer>(
    method: Method<This, ResourceArgs<Uri>, Awaitable<unknown>>,
    context: MethodContext<This, ResourceArgs<Uri>, Awaitable<unknown>>,
  ): void => {
    registerMethod('resource', method, context, (environment, call) => {
      environment.resource(uri, config, call);
    });
  };
}
