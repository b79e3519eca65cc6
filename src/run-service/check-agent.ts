import { ACP_PREFIX } from '../agents/agent-definition.ts';
import type { Agents } from '../agents/agents.ts';
import { ApiError } from '../contract/errors.ts';
import { EXTERNAL_MODEL } from '../contract/seat.ts';
import type { Models } from '../model/create-model.ts';
import { isReferenceModel } from '../model/reference-models.ts';

interface Parts {
  readonly models: Models;
  readonly agents?: Agents | undefined;
}

/** An agent and its models, as a request names them. */
interface Named {
  readonly agent: string | null;
  readonly models: readonly string[];
}

/**
 * The models that play, after a check of them and of the agent: `external` stands for that of an agent which brings its
 * own, where none is named.
 *
 * @param check gives the provider's name of a model, and throws for one that cannot be had.
 * @param isOurs true: whoever asks may start programs here, and `acp:<command>` is taken.
 * @throws ApiError agent_not_found, model_not_found; invalid_parameter for an agent with a reference model.
 * @returns undefined where models are missing.
 */
export async function checkAgent(
  { agent, models }: Named,
  parts: Parts,
  check: (model: string, index: number) => Promise<string>,
  isOurs = false,
): Promise<readonly string[] | undefined> {
  const needs = agent === null ? undefined : needsOf(agent, parts.agents, isOurs);
  if (needs === 'none') return models.length > 0 ? models : [EXTERNAL_MODEL];
  if (models.length === 0) return undefined;
  for (const [index, model] of models.entries()) {
    const target = isReferenceModel(model) && agent !== null ? model : await check(model, index);
    if (agent !== null && isReferenceModel(target)) {
      const name = target === model ? model : `${model} is ${target}, which`;
      const message = `${name} plays by itself: an agent asks a model of a gateway.`;
      throw new ApiError('invalid_parameter', message, { param: 'model' });
    }
  }
  return models;
}

/** Programs that nobody has configured are for those alone who may start any. */
function needsOf(name: string, agents: Agents | undefined, isOurs: boolean) {
  if (name.startsWith(ACP_PREFIX) && !isOurs) {
    const message = `agent is ${JSON.stringify(name)}: a service starts those commands alone that its configuration names. Give it a name under \`agents\` of proctor.config.ts.`;
    throw new ApiError('invalid_parameter', message, { param: 'agent' });
  }
  if (agents !== undefined) return agents.find(name).needs;
  throw new ApiError('agent_not_found', `There is no agent ${JSON.stringify(name)}: this service starts none.`, {
    param: 'agent',
  });
}
