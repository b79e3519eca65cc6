import type { Logger } from 'pino';
import type { AgentDefinition } from '../agents/agent-definition.ts';
import type { Agents } from '../agents/agents.ts';
import { ApiError, BoundaryError } from '../contract/errors.ts';
import type { CallGuard } from '../model/call-guard.ts';
import type { Models } from '../model/create-model.ts';
import type { Agent } from '../rollout/agent.ts';
import { CommandAgent } from '../seats/command-agent.ts';
import type { TraceRow } from '../trace/trace-store.ts';

interface Parts {
  readonly agents?: Agents | undefined;
  readonly models: Pick<Models, 'createForAgent'>;
  readonly logger: Logger;
}

/**
 * Makes the agent of a run that names one; undefined for a run whose model plays by itself.
 *
 * @param guard watches over the calls of its model too.
 */
export function commandAgentOf(
  { request }: Pick<TraceRow, 'request'>,
  { agents, models, logger }: Parts,
  guard: CallGuard | undefined,
): (() => Agent) | undefined {
  const { agent: name, model } = request;
  if (!name) return undefined;
  return () => {
    const definition = findHere(agents, name);
    const asked = definition.needs === 'none' ? undefined : createModel(models, model, guard);
    return new CommandAgent({ definition, model: asked, hidden: agents?.hidden ?? [], logger });
  };
}

/** @throws BoundaryError `worker`: another worker may have it. */
function findHere(agents: Agents | undefined, name: string): AgentDefinition {
  try {
    if (agents !== undefined) return agents.find(name);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new BoundaryError('worker', error.code, `This worker has no such agent. ${error.message}`, { cause: error });
  }
  throw new BoundaryError('worker', 'agent_not_found', `This worker starts no agents, and the run names ${name}.`);
}

/** @throws BoundaryError `model`. */
function createModel(models: Parts['models'], name: string, guard: CallGuard | undefined) {
  try {
    return models.createForAgent(name, guard);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new BoundaryError('model', error.code, error.message, { cause: error });
  }
}
