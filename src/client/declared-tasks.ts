import { z } from 'zod';
import { BoundaryError } from '../contract/errors.ts';
import { tasksUri } from '../contract/names.ts';
import { jsonOf } from '../mcp-client/reading.ts';
import { connectEnvironment } from './connect.ts';
import type { CallOptions, EnvironmentTarget } from './environment-client.ts';
import type { McpEnvironmentClient } from './mcp-environment-client.ts';

/** For each list, the author's function among it. */
const TASKS_TIMEOUT_MS = 60_000;
/** How long lists are kept: who lists the tasksets, as a rule, soon asks for one. */
const KEPT_MS = 10_000;

/** The tasks of one environment, by scenario. Each is told apart, so that one function that fails hides no other list. */
type Lists = ReadonlyMap<string, PromiseSettledResult<readonly unknown[]>>;

/** Short names of the scenarios that declare tasks. @throws BoundaryError `environment`. */
export async function readDeclaringScenarios(
  client: McpEnvironmentClient,
  options: CallOptions,
): Promise<readonly string[]> {
  const { resources } = await client.request('resources/list', {}, options);
  const start = tasksUri('');
  return resources.filter(({ uri }) => uri.startsWith(start)).map(({ uri }) => uri.slice(start.length));
}

/**
 * The tasks that scenarios declare, as their environments give them. All lists of an environment are read in one session,
 * and kept for a few seconds, as long as its code is the same.
 */
export class DeclaredTaskLists {
  readonly #signal: AbortSignal;
  readonly #kept = new Map<string, { readonly codeHash: string; readonly lists: Promise<Lists> }>();

  /** @param signal aborted when nobody needs them any longer. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /**
   * @param codeHash of the environment as it is now.
   * @throws BoundaryError `environment` where it cannot be started, with what the author's function threw, and where the
   *   scenario declares no tasks.
   */
  async read(name: string, target: EnvironmentTarget, codeHash: string, scenario: string): Promise<readonly unknown[]> {
    const lists = this.#listsOf(name, target, codeHash);
    const list = (await lists).get(scenario);
    if (list?.status === 'fulfilled') return list.value;
    // A failure is not remembered.
    if (this.#kept.get(name)?.lists === lists) this.#kept.delete(name);
    if (list !== undefined) throw list.reason;
    const message = `The scenario "${scenario}" of the environment "${name}" declares no tasks`;
    throw new BoundaryError('environment', 'environment_failed', message);
  }

  #listsOf(name: string, target: EnvironmentTarget, codeHash: string): Promise<Lists> {
    const known = this.#kept.get(name);
    if (known?.codeHash === codeHash) return known.lists;
    const kept = { codeHash, lists: readLists(target, this.#signal) };
    this.#kept.set(name, kept);
    const forget = () => {
      if (this.#kept.get(name) === kept) this.#kept.delete(name);
    };
    kept.lists.then(() => setTimeout(forget, KEPT_MS).unref(), forget);
    return kept.lists;
  }

  /** Resolves when nothing is being read. Never rejects. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#kept.values()].map(({ lists }) => lists));
  }
}

async function readLists(target: EnvironmentTarget, signal: AbortSignal): Promise<Lists> {
  // Without a handshake its initialize hook runs where a function of the author is asked, and else not.
  const isForReading = target.kind === 'module' || target.kind === 'memory';
  const client = await connectEnvironment(target, { signal, isForReading });
  const limits = { signal, timeoutMs: TASKS_TIMEOUT_MS };
  try {
    const lists = new Map<string, PromiseSettledResult<readonly unknown[]>>();
    // One after the other: each may be a message of megabytes.
    for (const scenario of await readDeclaringScenarios(client, limits)) {
      const [list] = await Promise.allSettled([readDeclaredTasks(client, scenario, limits)]);
      lists.set(scenario, list);
    }
    return lists;
  } finally {
    await client.close();
  }
}

/** The tasks that a scenario declares, unchecked. @throws BoundaryError `environment` with what the author's function threw. */
export async function readDeclaredTasks(
  client: McpEnvironmentClient,
  scenario: string,
  options: CallOptions,
): Promise<readonly unknown[]> {
  const parsed = listSchema.safeParse(
    jsonOf(await client.request('resources/read', { uri: tasksUri(scenario) }, options)),
  );
  if (parsed.success) return parsed.data.tasks;
  const message = `The environment "${client.name}" answered ${tasksUri(scenario)} with something else than a list of tasks`;
  throw new BoundaryError('environment', 'environment_failed', message);
}

/** Unchecked: the tasks are for the caller to check, who says which one is at fault. */
const listSchema = z.object({ tasks: z.array(z.unknown()) });
