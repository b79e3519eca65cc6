import { ApiError } from '../../../contract/errors.ts';
import { EXTERNAL_MODEL } from '../../../contract/service/seat.ts';
import type { Models } from '../../../models/gateway/create-model.ts';
import { isReferenceModel } from '../../../models/gateway/reference/reference-models.ts';
import { ACP_PREFIX } from '../../../rollout/agents/agent-definition.ts';
import type { Agents } from '../../../rollout/agents/agents.ts';

interface Parts {
  readonly models: Models;
  readonly agents?: Agents | undefined;
}

/** Agent and models that a request names. */
interface RequestedPlayer {
  readonly agent: string | null;
  readonly models: readonly string[];
}

/**
 * Checks the agent and the models, and returns the models that play. `external` means the model that an agent brings
 * itself, if the request names none.
 *
 * @param check returns the provider's name of a model, and throws for one that cannot be used.
 * @param isOurs true if the caller may start programs on this machine, which allows `acp:<command>`.
 * @throws ApiError agent_not_found, model_not_found; invalid_parameter for an agent with a reference model.
 * @returns undefined if models are missing.
 */
export async function checkAgent(
  { agent, models }: RequestedPlayer,
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

/** Only a caller who may start any program may name one that is not configured. */
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
