import { fileURLToPath } from 'node:url';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { type AgentEntry, agentEntrySchema } from '../../../src/rollout/agents/agent-definition.ts';
import { type Agents, createAgents } from '../../../src/rollout/agents/agents.ts';
import { sandboxProblem } from '../../../src/rollout/agents/sandbox.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const PLAYS = fileURLToPath(new URL('fixtures/plays.mjs', import.meta.url));

const problem = await sandboxProblem();
if (problem !== undefined) console.warn(`SKIPPED: the tests of agents in a sandbox: ${problem}`);
/** Whether agents have a sandbox here. */
export const hasSandbox: boolean = problem === undefined;

/** Agents of a configuration. */
export function agentsOf(
  entries: Readonly<Record<string, Partial<AgentEntry> & Pick<AgentEntry, 'command'>>>,
  hidden: readonly string[] = [],
): Agents {
  const parsed = Object.entries(entries).map(([name, entry]) => [name, agentEntrySchema.parse(entry)] as const);
  return createAgents({ entries: Object.fromEntries(parsed), directory: root, hidden });
}

/** The bare MCP client of `fixtures/plays.mjs`, by the way that it plays. */
export function plays(way: string, ...rest: readonly string[]) {
  return { command: ['node', PLAYS, '{mcp_url}', way, ...rest], needs: 'none' as const };
}

/** The lines that the agent of a trace has written. */
export function written({ logs }: Pick<Trace, 'logs'>, source: 'stdout' | 'stderr' = 'stdout'): string {
  return logs.flatMap(({ logger, message }) => (logger === `agent.${source}` ? [message] : [])).join('\n');
}
