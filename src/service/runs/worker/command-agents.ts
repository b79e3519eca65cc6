import type { Logger } from 'pino';
import { ApiError, BoundaryError } from '../../../contract/errors.ts';
import type { CallGuard } from '../../../models/gateway/call-guard.ts';
import type { AskedModel, Models } from '../../../models/gateway/create-model.ts';
import type { AgentDefinition } from '../../../rollout/agents/agent-definition.ts';
import type { Agents } from '../../../rollout/agents/agents.ts';
import type { Agent } from '../../../rollout/session/agent.ts';
import { toAskedModel } from '../../../store/models/registered-models.ts';
import type { TraceRow } from '../../../store/traces/trace-store.ts';

interface Parts {
  readonly agents?: Agents | undefined;
  readonly models: Pick<Models, 'createForAgent'>;
  readonly logger: Logger;
}

/**
 * Creates the external agent of a run; undefined if the model plays by itself.
 *
 * @param guard also guards the calls of the agent's model.
 */
export async function commandAgentOf(
  { request }: Pick<TraceRow, 'request'>,
  { agents, models, logger }: Parts,
  guard: CallGuard | undefined,
): Promise<(() => Agent) | undefined> {
  const { agent: name } = request;
  if (!name) return undefined;
  const { CommandAgent } = await import('../../../rollout/seats/command-agent.ts');
  return () => {
    const definition = findHere(agents, name);
    const asked = definition.needs === 'none' ? undefined : createModel(models, toAskedModel(request), guard);
    return new CommandAgent({ definition, model: asked, hidden: agents?.hidden ?? [], logger });
  };
}

/** @throws BoundaryError `worker` if it is missing; another worker may have it. */
function findHere(agents: Agents | undefined, name: string): AgentDefinition {
  try {
    if (agents !== undefined) return agents.find(name);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new BoundaryError('worker', error.code, `Process ${process.pid} has no such agent. ${error.message}`, {
      cause: error,
    });
  }
  throw new BoundaryError(
    'worker',
    'agent_not_found',
    `Process ${process.pid} starts no agents, and the run names ${name}.`,
  );
}

/** @throws BoundaryError `model`. */
function createModel(models: Parts['models'], model: AskedModel, guard: CallGuard | undefined) {
  try {
    return models.createForAgent(model, guard);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new BoundaryError('model', error.code, error.message, { cause: error });
  }
}
