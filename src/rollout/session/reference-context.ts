import { BoundaryError } from '../../contract/errors.ts';
import type { JsonObject, JsonSchema } from '../../contract/json.ts';
import type { EnvironmentClient } from '../../environment/client/environment-client.ts';
import type { ReferenceContext } from '../../models/gateway/chat-model.ts';

export interface ReferenceRollout {
  readonly scenario: string;
  readonly args: JsonObject;
  readonly seed: number | null;
  /** Returns the environment's client, which does not exist yet when the model is made. */
  client(): EnvironmentClient | undefined;
  /** Returns the answer schema; undefined before the setup is done. */
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
