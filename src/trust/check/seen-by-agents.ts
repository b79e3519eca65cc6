import type { McpEnvironmentClient } from '../../client/mcp-environment-client.ts';
import { META } from '../../contract/names.ts';
import type { Bench } from './bench.ts';
import type { CheckTask } from './finding.ts';
import type { Seen } from './leak.ts';

/** Resources and prompts that are read, at most. */
const MAX_READ = 50;
const AS_AGENT = { _meta: { [META.audience]: 'agent' } };

/** Everything that an agent may read once a task is set up: instructions, resources and prompts, those of scenarios excepted. */
export async function seenByAgents(task: CheckTask, bench: Bench, scenarios: readonly string[]): Promise<Seen> {
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
    // That it cannot be set up is told by the run of its solution.
    return [];
  } finally {
    await client.close();
  }
}

type Options = { readonly signal: AbortSignal; readonly timeoutMs: number };

async function readAll(client: McpEnvironmentClient, uris: readonly string[], options: Options): Promise<Seen> {
  const read = uris.slice(0, MAX_READ).map(async (uri) => {
    const { contents } = await client.request('resources/read', { uri, ...AS_AGENT }, options);
    return { where: `the resource ${uri}`, text: JSON.stringify(contents) };
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

/** Empty where the environment lists none, or cannot. */
async function listed<T>(list: () => Promise<readonly T[]>): Promise<readonly T[]> {
  return await list().catch(() => []);
}

function fulfilled<T>(results: readonly PromiseSettledResult<T>[]): readonly T[] {
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}
