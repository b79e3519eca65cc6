import type { EnvironmentClient } from '../client/environment-client.ts';
import { BoundaryError } from '../contract/errors.ts';
import type { JsonObject, JsonSchema } from '../contract/json.ts';
import type { ReferenceContext } from '../model/chat-model.ts';

export interface ReferenceRollout {
  readonly scenario: string;
  readonly args: JsonObject;
  readonly seed: number | null;
  /** A model is made before its environment is connected, and asks after that. */
  client(): EnvironmentClient | undefined;
  /** Known once the scenario is set up. */
  answerSchema(): JsonSchema | null | undefined;
}

/** The context of a reference model: the rollout's seed and the scenario's solution, as data. */
export function toReferenceContext({ scenario, args, seed, client, answerSchema }: ReferenceRollout): ReferenceContext {
  return {
    seed,
    scenario,
    answerSchema: () => answerSchema() ?? null,
    async solution(results, signal) {
      const connected = client();
      if (connected === undefined) {
        throw new BoundaryError(
          'environment',
          'environment_failed',
          'No environment is connected to ask for a solution',
        );
      }
      return await connected.solution(scenario, args, results, { signal });
    },
  };
}
