import { ApiError, messageOf } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { EnvironmentEntry } from '../contract/run.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import { preview, type SchemaIssue } from '../schema/json-schema.ts';
import { didYouMean } from '../text/did-you-mean.ts';
import { connectEnvironment } from './connect.ts';
import { DeclaredTaskLists, readDeclaringScenarios } from './declared-tasks.ts';
import type { AgentToolEntry, EnvironmentTarget } from './environment-client.ts';
import { hashEnvironmentCode } from './module-hash.ts';
import { argumentIssues } from './scenario-args.ts';
import { readScenarioWarnings } from './scenario-warnings.ts';
import { StartCheck } from './start-check.ts';

/** Names that a message lists before it says how many more there are. */
const MAX_LISTED_NAMES = 20;
/** Before its initialize hook an environment may lack tools. */
const NO_WARNINGS: Promise<readonly string[]> = Promise.resolve([]);
/** For each of the lists that are read of an environment. */
const LIST_TIMEOUT_MS = 60_000;

/** The scenarios and tools of the environments, read from them at first use. Its creator closes it. */
export interface Catalogue {
  /**
   * Every environment by its configured name. One that cannot be started is listed too, with the reason: it must not hide
   * the others. Modules are started as a run would start them, once for each version of their code, since an initialize
   * hook that fails shows in no other way. It is tried again where that failed (`StartCheck`).
   */
  list(): Promise<readonly EnvironmentEntry[]>;
  /** @throws ApiError `env_not_found`. @throws BoundaryError `environment` when it cannot be started. */
  scenarios(environmentName: string): Promise<readonly ScenarioEntry[]>;
  /**
   * The tools that an agent sees before a scenario begins: never the harness's, nor those that an initialize hook adds.
   *
   * @throws ApiError `env_not_found`. @throws BoundaryError as `scenarios`, and when its tools cannot be listed.
   */
  tools(environmentName: string): Promise<readonly AgentToolEntry[]>;
  /**
   * @param scenarioName its short name, or `<environment>:<short name>`.
   * @throws ApiError `env_not_found` or `scenario_not_found`. @throws BoundaryError as `scenarios`.
   */
  find(environmentName: string, scenarioName: string): Promise<ScenarioEntry>;
  /** Everything that is wrong with the arguments of a scenario. @throws BoundaryError where its schema is none. */
  argumentIssues(entry: ScenarioEntry, args: JsonObject): readonly SchemaIssue[];
  /** The configured names. */
  environments(): readonly string[];
  /**
   * Short names of the scenarios of an environment that declare tasks.
   *
   * @throws ApiError `env_not_found`. @throws BoundaryError as `scenarios`.
   */
  declaringScenarios(environmentName: string): Promise<readonly string[]>;
  /**
   * The tasks that a scenario declares, unchecked.
   *
   * @throws ApiError `env_not_found`. @throws BoundaryError as `scenarios`, with what the author's function threw, and where
   *   the scenario declares none.
   */
  declaredTasks(environmentName: string, scenarioName: string): Promise<readonly unknown[]>;
  /** Ends what is being started. Later calls fail. Never rejects. */
  close(): Promise<void>;
}

interface Reading {
  /** The hash of a module's code; empty for the other kinds, which are read once. */
  readonly codeHash: string;
  readonly content: Promise<Content>;
  /** Gives the warnings of the entry. */
  readonly start: StartCheck<readonly string[]>;
}

/** Apart from the rest: an environment that cannot list something, or not yet, has scenarios all the same. Never rejects. */
type Listed<Entry> = Promise<PromiseSettledResult<readonly Entry[]>>;

interface Content {
  readonly description: string;
  readonly version: string;
  readonly scenarios: readonly ScenarioEntry[];
  /** Never rejects. */
  readonly warnings: Promise<readonly string[]>;
  readonly tools: Listed<AgentToolEntry>;
  /** Short names of the scenarios that declare tasks. */
  readonly declaring: Listed<string>;
  /** Settles once its connection is closed. */
  readonly closed: Promise<void>;
}

/**
 * A catalogue of configured environments. Each is connected to once, when it is first asked about, and again when the
 * code of its module has changed; callers that come meanwhile share that connection. A failure is not remembered.
 */
export function createCatalogue(
  environments: ReadonlyMap<string, EnvironmentTarget>,
  now: () => number = Date.now,
): Catalogue {
  const readings = new Map<string, Reading>();
  const closing = new AbortController();
  const lists = new DeclaredTaskLists(closing.signal);

  const readingOf = async (name: string): Promise<Reading> => {
    const target = environments.get(name);
    if (target === undefined) throw unknownEnvironment(name, [...environments.keys()]);
    const codeHash = await codeHashOf(target);
    const known = readings.get(name);
    if (known?.codeHash === codeHash) return known;
    const content = readContent(target, closing.signal);
    // The handshake of the other kinds, by which they are read, runs the hook.
    const isStartedByReading = target.kind !== 'module' && target.kind !== 'memory';
    const start = new StartCheck(
      async () => (isStartedByReading ? (await content).warnings : await startOnce(target, closing.signal)),
      now,
    );
    const reading: Reading = { codeHash, content, start };
    readings.set(name, reading);
    content.catch(() => {
      if (readings.get(name) === reading) readings.delete(name);
    });
    return reading;
  };

  const read = async (name: string): Promise<Content> => (await readingOf(name)).content;

  /** @throws what kept the environment from listing it, which is not remembered. */
  const listOf = async <Entry>(name: string, pick: (content: Content) => Listed<Entry>): Promise<readonly Entry[]> => {
    const content = await read(name);
    const listed = await pick(content);
    if (listed.status === 'fulfilled') return listed.value;
    const known = await readings.get(name)?.content.catch(() => undefined);
    if (known === content) readings.delete(name);
    throw listed.reason;
  };

  const describe = async (name: string): Promise<EnvironmentEntry> => {
    let said = { description: '', version: '' };
    try {
      const reading = await readingOf(name);
      const { description, version } = await reading.content;
      said = { description, version };
      const warnings = await reading.start.result();
      return { name, ...said, state: 'ready', warnings: [...warnings] };
    } catch (error) {
      return { name, ...said, state: 'failed', reason: messageOf(error) };
    }
  };

  return {
    list: () => Promise.all([...environments.keys()].map(describe)),
    scenarios: async (name) => (await read(name)).scenarios,
    tools: (name) => listOf(name, ({ tools }) => tools),
    find: async (name, scenarioName) => {
      const { scenarios } = await read(name);
      const found = scenarios.find((entry) => entry.short_name === scenarioName || entry.name === scenarioName);
      const byConfiguredName = () => scenarios.find((entry) => `${name}:${entry.short_name}` === scenarioName);
      const entry = found ?? byConfiguredName();
      if (entry === undefined) throw unknownScenario(name, scenarioName, scenarios);
      return entry;
    },
    argumentIssues,
    environments: () => [...environments.keys()],
    declaringScenarios: (name) => listOf(name, ({ declaring }) => declaring),
    declaredTasks: async (name, scenario) => {
      const target = environments.get(name);
      if (target === undefined) throw unknownEnvironment(name, [...environments.keys()]);
      return await lists.read(name, target, await codeHashOf(target), scenario);
    },
    close: async () => {
      closing.abort(new ApiError('shutting_down', 'The server is shutting down', { headers: { 'retry-after': '5' } }));
      await lists.settled();
      await Promise.allSettled(
        [...readings.values()].flatMap(({ content, start }) => [content.then(({ closed }) => closed), start.settled()]),
      );
    },
  };
}

async function readContent(target: EnvironmentTarget, signal: AbortSignal): Promise<Content> {
  // An environment that launches a browser for each session should not do so for a list.
  const isForReading = target.kind === 'module' || target.kind === 'memory';
  const client = await connectEnvironment(target, { signal, isForReading });
  const limits = { signal, timeoutMs: LIST_TIMEOUT_MS };
  const tools = Promise.allSettled([client.tools(limits)]).then(([listed]) => listed);
  const declaring = Promise.allSettled([readDeclaringScenarios(client, limits)]).then(([listed]) => listed);
  try {
    const scenarios = await client.scenarios(limits);
    const [description = ''] = client.instructions.trim().split('\n');
    const warnings = isForReading ? NO_WARNINGS : readScenarioWarnings(client, limits).catch(() => []);
    const closed = Promise.all([tools, declaring, warnings]).then(() => client.close());
    return { description: description.trim(), version: client.version, scenarios, tools, declaring, warnings, closed };
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** Starts an environment as a run would, and ends it. Gives its warnings. */
async function startOnce(target: EnvironmentTarget, signal: AbortSignal): Promise<readonly string[]> {
  const client = await connectEnvironment(target, { signal });
  try {
    // It has started, whatever it answers now.
    return await readScenarioWarnings(client, { signal, timeoutMs: LIST_TIMEOUT_MS }).catch(() => []);
  } finally {
    await client.close();
  }
}

/**
 * Whether every environment of a catalogue can be started. The reason, and the warnings of one that can, go to the log, once
 * until they are others, since the client that asks whether the server is ready has shown no key.
 */
export function catalogueCheck(
  catalogue: Pick<Catalogue, 'list'>,
  logger: { warn(fields: object, message: string): void },
): { readonly name: string; failed(): Promise<readonly string[]> } {
  const reported = new Map<string, string>();
  const failed = async () => {
    const names: string[] = [];
    for (const entry of await catalogue.list()) {
      const isFailed = entry.state === 'failed';
      const reason = isFailed ? entry.reason : entry.warnings.join('; ');
      const what = isFailed ? 'It cannot be started' : 'It is ready, but some of its scenarios will fail';
      if (reason !== '' && reported.get(entry.name) !== reason) logger.warn({ environment: entry.name, reason }, what);
      reported.set(entry.name, reason);
      if (isFailed) names.push(`environment ${entry.name} (it cannot be started, the log says why)`);
    }
    return names;
  };
  return { name: 'environments', failed };
}

/** A directory that cannot be read is reported by the connection, in better words. */
async function codeHashOf(target: EnvironmentTarget): Promise<string> {
  try {
    return target.kind === 'module' ? await hashEnvironmentCode(target.path) : '';
  } catch {
    return '';
  }
}

function unknownEnvironment(name: string, existing: readonly string[]): ApiError {
  const message = `No environment is named ${preview(name)}.${didYouMean(name, existing)} ${listNames('Environments', existing)}`;
  return new ApiError('env_not_found', message, { param: 'env_name' });
}

function unknownScenario(environment: string, name: string, scenarios: readonly ScenarioEntry[]): ApiError {
  const existing = scenarios.map((entry) => entry.short_name);
  const message = `The environment "${environment}" has no scenario ${preview(name)}.${didYouMean(name, existing)} ${listNames('Scenarios', existing)}`;
  return new ApiError('scenario_not_found', message, { param: 'scenario_name' });
}

function listNames(what: string, names: readonly string[]): string {
  if (names.length === 0) return `${what}: none.`;
  const more = names.length > MAX_LISTED_NAMES ? ` and ${names.length - MAX_LISTED_NAMES} more` : '';
  return `${what}: ${names.slice(0, MAX_LISTED_NAMES).join(', ')}${more}.`;
}
