import { z } from 'zod';
import { BoundaryError } from '../../contract/errors.ts';
import { tasksUri } from '../../contract/names.ts';
import { jsonOf } from '../mcp-client/reading.ts';
import type { CallOptions, ConnectOptions, EnvironmentTarget } from './environment-client.ts';
import type { McpEnvironmentClient } from './mcp-environment-client.ts';

/** Starts an environment and connects to it in a new session. */
export type Connect = (target: EnvironmentTarget, options: ConnectOptions) => Promise<McpEnvironmentClient>;

/** Milliseconds for each list. The author's function runs within this time. */
const TASKS_TIMEOUT_MS = 60_000;
/** Milliseconds that lists are cached. A client that lists the tasksets usually reads one soon after. */
const KEPT_MS = 10_000;

/**
 * The task lists of one environment by scenario. Each has its own result, so that one failing function hides no other
 * list.
 */
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
 * The tasks that scenarios declare. All lists of an environment are read in one session and cached for a few seconds,
 * unless its code changes.
 */
export class DeclaredTaskLists {
  readonly #signal: AbortSignal;
  readonly #connect: Connect;
  readonly #kept = new Map<string, { readonly codeHash: string; readonly lists: Promise<Lists> }>();

  /** @param signal is aborted when the lists are no longer needed. @param connect connects to an environment. */
  constructor(signal: AbortSignal, connect: Connect) {
    this.#signal = signal;
    this.#connect = connect;
  }

  /**
   * @param codeHash is the hash of the environment's current code.
   * @throws BoundaryError `environment` if it cannot be started, with the error of the author's function, and if the
   *   scenario declares no tasks.
   */
  async read(name: string, target: EnvironmentTarget, codeHash: string, scenario: string): Promise<readonly unknown[]> {
    const lists = this.#listsOf(name, target, codeHash);
    const list = (await lists).get(scenario);
    if (list?.status === 'fulfilled') return list.value;
    // A failure is not cached.
    if (this.#kept.get(name)?.lists === lists) this.#kept.delete(name);
    if (list !== undefined) throw list.reason;
    const message = `The scenario "${scenario}" of the environment "${name}" declares no tasks`;
    throw new BoundaryError('environment', 'environment_failed', message);
  }

  #listsOf(name: string, target: EnvironmentTarget, codeHash: string): Promise<Lists> {
    const known = this.#kept.get(name);
    if (known?.codeHash === codeHash) return known.lists;
    const kept = { codeHash, lists: readLists(target, this.#connect, this.#signal) };
    this.#kept.set(name, kept);
    const forget = () => {
      if (this.#kept.get(name) === kept) this.#kept.delete(name);
    };
    kept.lists.then(() => setTimeout(forget, KEPT_MS).unref(), forget);
    return kept.lists;
  }

  /** Resolves when no list is being read. Never rejects. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#kept.values()].map(({ lists }) => lists));
  }
}

async function readLists(target: EnvironmentTarget, connect: Connect, signal: AbortSignal): Promise<Lists> {
  // Without a handshake, the initialize hook runs only if a function of the author is called.
  const isForReading = target.kind === 'module' || target.kind === 'memory';
  const client = await connect(target, { signal, isForReading });
  const limits = { signal, timeoutMs: TASKS_TIMEOUT_MS };
  try {
    const lists = new Map<string, PromiseSettledResult<readonly unknown[]>>();
    // Read one after the other, because each list may have megabytes.
    for (const scenario of await readDeclaringScenarios(client, limits)) {
      const [list] = await Promise.allSettled([readDeclaredTasks(client, scenario, limits)]);
      lists.set(scenario, list);
    }
    return lists;
  } finally {
    await client.close();
  }
}

/**
 * The tasks that a scenario declares, not checked yet. @throws BoundaryError `environment` with the error of the
 * author's function.
 */
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

/** The tasks are not checked here. The caller checks them and can name the invalid one. */
const listSchema = z.object({ tasks: z.array(z.unknown()) });
