import type { EnvironmentTarget } from '../../client/environment-client.ts';
import { ForgerModel } from '../../model/forger-model.ts';
import { FORGED_ANSWERS } from '../../model/forgeries.ts';
import { preview } from '../../schema/json-schema.ts';
import { connectAsAgent } from './agent-connection.ts';
import type { Bench } from './bench.ts';
import { type Canaries, plantCanaries } from './canaries.ts';
import type { Found, Subject } from './finding.ts';
import { forgeConnection } from './forge-connection.ts';
import { resultsOf } from './observed.ts';
import { foundOf, worstOf } from './passes.ts';
import type { Played } from './play.ts';

/** Agents that give forged answers, the first of a scenario after it has called the harness's functions. */
export async function forgeAnswers({ task }: Subject, bench: Bench, isFirst: boolean): Promise<readonly Found[]> {
  const isOver = () => bench.budget.isOver('forger', task);
  const answers = FORGED_ANSWERS.slice(0, bench.tries(isFirst).forgedAnswers);
  const found = await bench.each(answers, { isOver }, async (_answer, index): Promise<readonly Found[]> => {
    const tries = isFirst && index === 0 ? 'names' : 'answer';
    const createModel = (context: ConstructorParameters<typeof ForgerModel>[1]) =>
      new ForgerModel('proctor/forger', context, { tries });
    const played = await bench.play(task, { model: 'proctor/forger', createModel, seed: index });
    const who = `An agent that answers ${preview(FORGED_ANSWERS[index])}`;
    const reproduce = bench.runCommand(task, 'proctor/forger', index);
    return [
      ...foundOf({ finding: 'forger', task, played, who, reproduce }, bench, false),
      ...reachedBy(played).map(
        (message): Found => ({ finding: 'forger', level: 'error', task, played, message, reproduce }),
      ),
    ];
  });
  return worstOf(found.flat());
}

/** An agent that looks for files and variables with the tools that it has, in a process of its own: it may end it. */
export async function forgeLoot(
  { task }: Subject,
  bench: Bench,
  target: EnvironmentTarget,
  isUnsandboxed: boolean,
): Promise<readonly Found[]> {
  const canaries = plantCanaries(bench.places.newFolder(), target);
  const open = bench.places.alone({ variables: canaries.variables });
  const createModel = (context: ConstructorParameters<typeof ForgerModel>[1]) =>
    new ForgerModel('proctor/forger', context, { loot: canaries.loot });
  const played = await bench.play(task, { model: 'proctor/forger', createModel, open });
  const reproduce = bench.checkCommand(task);
  const who = 'An agent that looks for keys and solutions';
  return [
    // Its answer is one of those that others have tried.
    ...(played.trace.reward === null ? foundOf({ finding: 'forger', task, played, who, reproduce }, bench, false) : []),
    ...lootOf(played, canaries, isUnsandboxed).map((found): Found => ({ ...found, task, played, reproduce })),
  ];
}

/** An agent with a connection of its own, in both eras of MCP. */
export async function forgeRoutes(
  bench: Bench,
  target: EnvironmentTarget,
  scenarios: readonly string[],
): Promise<readonly Found[]> {
  const found: Found[] = [];
  const canaries = plantCanaries(bench.places.newFolder(), target);
  for (const skipsHandshake of [false, true]) {
    const { signal, limitMs } = bench;
    const connecting = connectAsAgent(target, { skipsHandshake, signal, timeoutMs: limitMs });
    // A server that does not speak this revision cannot be cheated by it.
    const connection = await connecting.catch(() => undefined);
    if (connection === undefined) continue;
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
  return found.slice(0, MAX_ROUTES);
}

const MAX_ROUTES = 5;

function error(message: string): Found {
  return { finding: 'forger', level: 'error', message };
}

/** Calls of names that nobody was offered, and that answered. */
function reachedBy(played: Played): readonly string[] {
  const offered = new Set(played.trace.tools.map(({ name }) => name));
  const reached = resultsOf(played).find(({ name, is_error }) => !is_error && !offered.has(name));
  return reached === undefined ? [] : [`An agent reaches ${JSON.stringify(reached.name)}, which it was not offered.`];
}

function lootOf(
  played: Played,
  canaries: Canaries,
  isUnsandboxed: boolean,
): readonly Pick<Found, 'finding' | 'level' | 'message'>[] {
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
