import type { Logger } from 'pino';
import type { AgentDefinition } from '../agents/agent-definition.ts';
import type { Agents } from '../agents/agents.ts';
import { ApiError, BoundaryError } from '../contract/errors.ts';
import type { Agent } from '../rollout/agent.ts';
import { CommandAgent } from '../seats/command-agent.ts';
import type { TraceRow } from '../trace/trace-store.ts';

/** Makes the agent of a run that names one; undefined for a run whose model plays by itself. */
export function commandAgentOf(
  { request }: Pick<TraceRow, 'request'>,
  { agents, logger }: { readonly agents?: Agents | undefined; readonly logger: Logger },
): (() => Agent) | undefined {
  const { agent: name, model } = request;
  if (!name) return undefined;
  return () => {
    const definition = findHere(agents, name);
    return new CommandAgent({ definition, model, hidden: agents?.hidden ?? [], logger });
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
