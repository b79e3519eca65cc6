import { META } from '../../../contract/names.ts';
import type { McpEnvironmentClient } from '../../../environment/client/mcp-environment-client.ts';
import type { CheckTask } from '../finding.ts';
import type { SessionPlayer } from '../player/session-player.ts';
import { hubFunctionsIn } from './hub-functions.ts';
import type { Seen } from './leak.ts';

/** Most resources and prompts that are read. */
const MAX_READ = 50;
const AS_AGENT = { _meta: { [META.audience]: 'agent' } };

/** Everything that an agent may read after setup: instructions, resources and prompts, except scenarios' own. */
export async function seenByAgents(task: CheckTask, bench: SessionPlayer, scenarios: readonly string[]): Promise<Seen> {
  const options = { signal: bench.signal, timeoutMs: bench.limitMs };
  const client = await bench.places.alone()(options);
  try {
    await client.setup(task.scenario.short_name, task.args, { ...options, meta: { [META.seed]: bench.seed } });
    const resources = await listed(() =>
      client.request('resources/list', AS_AGENT, options).then((list) => list.resources),
    );
    const prompts = await listed(() => client.request('prompts/list', AS_AGENT, options).then((list) => list.prompts));
    const own = prompts.filter(
      ({ name, arguments: args = [] }) => !scenarios.includes(name) && !args.some(({ required }) => required),
    );
    return [
      { where: 'the instructions of the environment', text: client.instructions },
      {
        where: 'the description of its scenario',
        text: `${task.scenario.description}\n${JSON.stringify(task.scenario.args_schema)}`,
      },
      ...(await readAll(
        client,
        resources.map(({ uri }) => uri),
        options,
      )),
      ...(await promptsOf(
        client,
        own.map(({ name }) => name),
        options,
      )),
    ];
  } catch {
    bench.signal.throwIfAborted();
    // The run of its solution reports why the setup failed.
    bench.coverage.notTried('leak', 'its resources and prompts could not be read', { task });
    return [];
  } finally {
    await client.close();
  }
}

type Options = { readonly signal: AbortSignal; readonly timeoutMs: number };

async function readAll(client: McpEnvironmentClient, uris: readonly string[], options: Options): Promise<Seen> {
  const read = uris.slice(0, MAX_READ).map(async (uri) => {
    const { contents } = await client.request('resources/read', { uri, ...AS_AGENT }, options);
    return { where: `the resource ${uri}`, text: JSON.stringify(contents), functions: hubFunctionsIn(contents) };
  });
  return fulfilled(await Promise.allSettled(read));
}

async function promptsOf(client: McpEnvironmentClient, names: readonly string[], options: Options): Promise<Seen> {
  const got = names.slice(0, MAX_READ).map(async (name) => {
    const { messages } = await client.request('prompts/get', { name, ...AS_AGENT }, options);
    return { where: `the prompt ${name}`, text: JSON.stringify(messages) };
  });
  return fulfilled(await Promise.allSettled(got));
}

/** The list; empty if the environment has none or fails. */
async function listed<T>(list: () => Promise<readonly T[]>): Promise<readonly T[]> {
  return await list().catch(() => []);
}

function fulfilled<T>(results: readonly PromiseSettledResult<T>[]): readonly T[] {
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}
