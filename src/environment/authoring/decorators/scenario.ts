import type { ToolContext } from '../definition.ts';
import type { EnvironmentServer } from '../environment-server.ts';
import type { AnswerOf, ScenarioConfig, ScenarioGenerator } from '../scenario.ts';
import type { AnySchema, ArgsOf, NoArgs } from '../schema/schema-types.ts';
import { type Method, type MethodContext, registerMethod } from './method.ts';

type MethodArgs<Args extends AnySchema> = [args: ArgsOf<Args>, context: ToolContext];

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
