import type { EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import { ForgerModel } from '../../../models/gateway/reference/forger-model.ts';
import { FORGED_ANSWERS } from '../../../models/gateway/reference/forgeries.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import type { Finding, Subject } from '../finding.ts';
import { connectAsAgent } from '../player/agent-connection.ts';
import { resultsOf } from '../player/observed.ts';
import { toFindings, worstOf } from '../player/passes.ts';
import type { PlayedSession } from '../player/play.ts';
import type { SessionPlayer } from '../player/session-player.ts';
import { type Canaries, plantCanaries } from './canaries.ts';
import { forgeConnection } from './protocol-attack.ts';

/** Tries agents with forged answers. In a scenario's first task, the agent also calls the harness's functions first. */
export async function forgeAnswers(
  { task }: Subject,
  bench: SessionPlayer,
  isFirst: boolean,
): Promise<readonly Finding[]> {
  const isOver = () => bench.budget.isOver('forger', task);
  const answers = FORGED_ANSWERS.slice(0, bench.tries(isFirst).forgedAnswers);
  const found = await bench.each(answers, { isOver }, async (_answer, index): Promise<readonly Finding[]> => {
    const tries = isFirst && index === 0 ? 'names' : 'answer';
    const createModel = (context: ConstructorParameters<typeof ForgerModel>[1]) =>
      new ForgerModel('proctor/forger', context, { tries });
    const played = await bench.play(task, { finding: 'forger', model: 'proctor/forger', createModel, seed: index });
    const who = `An agent that answers ${preview(FORGED_ANSWERS[index])}`;
    const reproduce = bench.runCommand(task, 'proctor/forger', index);
    return [
      ...toFindings({ finding: 'forger', task, played, who, reproduce }, bench, false),
      ...reachedBy(played).map(
        (message): Finding => ({ finding: 'forger', level: 'error', task, played, message, reproduce }),
      ),
    ];
  });
  return worstOf(found.flat());
}

/**
 * Tries an agent that looks for files and variables with its tools. It has its own process, because it may crash it.
 */
export async function forgeLoot(
  { task }: Subject,
  bench: SessionPlayer,
  target: EnvironmentTarget,
  isUnsandboxed: boolean,
): Promise<readonly Finding[]> {
  const canaries = plantCanaries(bench.places.newFolder(), target);
  const open = bench.places.alone({ variables: canaries.variables });
  const createModel = (context: ConstructorParameters<typeof ForgerModel>[1]) =>
    new ForgerModel('proctor/forger', context, { loot: canaries.loot });
  const played = await bench.play(task, { finding: 'forger', model: 'proctor/forger', createModel, open });
  const reproduce = bench.checkCommand(task);
  const who = 'An agent that looks for keys and solutions';
  return [
    // Other agents have tried this answer already.
    ...(played.trace.reward === null
      ? toFindings({ finding: 'forger', task, played, who, reproduce }, bench, false)
      : []),
    ...lootOf(played, canaries, isUnsandboxed).map((found): Finding => ({ ...found, task, played, reproduce })),
  ];
}

/** Tries an agent with its own connection, in both protocol eras of MCP. */
export async function forgeRoutes(
  bench: SessionPlayer,
  target: EnvironmentTarget,
  scenarios: readonly string[],
): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  const { coverage } = bench;
  if (target.kind === 'memory') {
    coverage.notTried('forger', 'it is in the process of the check, where no agent connects by itself');
    return [];
  }
  if (target.kind === 'url')
    coverage.notTried('forger', 'it is a server elsewhere, whose files and variables are not known');
  let connections = 0;
  const canaries = plantCanaries(bench.places.newFolder(), target);
  for (const skipsHandshake of [false, true]) {
    const { signal, limitMs } = bench;
    const connecting = connectAsAgent(target, { skipsHandshake, signal, timeoutMs: limitMs });
    // A server without this protocol revision cannot be attacked through it.
    const connection = await connecting.catch(() => undefined);
    if (connection === undefined) continue;
    connections += 1;
    try {
      const { reached, texts, endedBy } = await forgeConnection(connection, {
        scenarios,
        paths: canaries.loot.paths,
        signal,
        limitMs,
      });
      const era = skipsHandshake ? 'MCP 2026-07-28' : 'MCP with a session';
      for (const way of reached) found.push(error(`An agent reaches what is the harness's, over ${era}: ${way}.`));
      if (endedBy !== undefined) found.push(error(`An agent breaks the environment, over ${era}: ${endedBy}.`));
      const seen = new Set(texts.flatMap((text) => canaries.foundIn(text)));
      for (const what of seen)
        found.push(error(`A template of a resource gives ${what} to an agent that asks for its path.`));
    } finally {
      await connection.close();
    }
  }
  if (connections === 0) coverage.notTried('forger', 'an agent of its own could not connect');
  return found.slice(0, MAX_ROUTES);
}

const MAX_ROUTES = 5;

function error(message: string): Finding {
  return { finding: 'forger', level: 'error', message };
}

/** Calls of tools that were not offered, and that succeeded. */
function reachedBy(played: PlayedSession): readonly string[] {
  const offered = new Set(played.trace.tools.map(({ name }) => name));
  const reached = resultsOf(played).find(({ name, is_error }) => !is_error && !offered.has(name));
  return reached === undefined ? [] : [`An agent reaches ${JSON.stringify(reached.name)}, which it was not offered.`];
}

function lootOf(
  played: PlayedSession,
  canaries: Canaries,
  isUnsandboxed: boolean,
): readonly Pick<Finding, 'finding' | 'level' | 'message'>[] {
  const level = isUnsandboxed ? 'warning' : 'error';
  const ways = new Map<string, string>();
  for (const { name, arguments: args, content, structured_content } of resultsOf(played)) {
    for (const what of canaries.foundIn(JSON.stringify([content, structured_content]))) {
      if (!ways.has(name)) ways.set(name, `The tool ${name} gives an agent ${what}: ${name}(${preview(args)}).`);
    }
  }
  const changed = canaries.changed().map((what) => `A tool of it has overwritten ${what}.`);
  const hint = isUnsandboxed ? ' The environment says that it is unsandboxed.' : '';
  return [...ways.values(), ...changed].map((message) => ({ finding: 'forger', level, message: `${message}${hint}` }));
}
