import { setMaxListeners } from 'node:events';
import { ApiError, messageOf } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import type { EnvironmentEntry } from '../../contract/service/run.ts';
import { preview, type SchemaIssue } from '../../support/schema/json-schema.ts';
import { didYouMean } from '../../support/text/did-you-mean.ts';
import { connectEnvironment } from './connect.ts';
import { type Connect, DeclaredTaskLists, readDeclaringScenarios } from './declared-tasks.ts';
import type { AgentToolEntry, EnvironmentTarget } from './environment-client.ts';
import { hashEnvironmentCode } from './pool/module-hash.ts';
import { StartCheck } from './pool/start-check.ts';
import { argumentIssues } from './scenario-args.ts';
import { checkSandboxes, readScenarioWarnings } from './scenario-warnings.ts';

/** Maximum number of names that a message lists. */
const MAX_LISTED_NAMES = 20;
/** Before its initialize hook has run, an environment may lack tools, so warnings about tools would be wrong. */
const NO_WARNINGS: Promise<readonly string[]> = Promise.resolve([]);
/** Milliseconds for each list that is read from an environment. */
const LIST_TIMEOUT_MS = 60_000;

/**
 * The scenarios and tools of the environments, read at first use. The caller that creates a catalogue has to close it.
 */
export interface Catalogue {
  /**
   * Lists every environment by its configured name. An environment that cannot be started is listed with the reason, so
   * that it does not hide the others. Modules are started as for a run, once for each version of their code, because
   * only this shows whether the initialize hook fails. A failed start is tried again (`StartCheck`).
   */
  list(): Promise<readonly EnvironmentEntry[]>;
  /** @throws ApiError `env_not_found`. @throws BoundaryError `environment` if it cannot be started. */
  scenarios(environmentName: string): Promise<readonly ScenarioEntry[]>;
  /**
   * The tools that an agent sees before a scenario begins, without tools for the harness and tools that an initialize
   * hook adds.
   *
   * @throws ApiError `env_not_found`. @throws BoundaryError as `scenarios`, and if the tools cannot be listed.
   */
  tools(environmentName: string): Promise<readonly AgentToolEntry[]>;
  /**
   * @param scenarioName is the short name, or `<environment>:<short name>`.
   * @throws ApiError `env_not_found` or `scenario_not_found`. @throws BoundaryError as `scenarios`.
   */
  find(environmentName: string, scenarioName: string): Promise<ScenarioEntry>;
  /** All problems with the arguments of a scenario. @throws BoundaryError if the schema of the arguments is invalid. */
  argumentIssues(entry: ScenarioEntry, args: JsonObject): readonly SchemaIssue[];
  /** Where an environment runs. @throws ApiError `env_not_found`. */
  target(environmentName: string): Promise<EnvironmentTarget>;
  /** The configured names of all environments. */
  environments(): readonly string[];
  /**
   * Short names of the scenarios of an environment that declare tasks.
   *
   * @throws ApiError `env_not_found`. @throws BoundaryError as `scenarios`.
   */
  declaringScenarios(environmentName: string): Promise<readonly string[]>;
  /**
   * The tasks that a scenario declares, not checked yet.
   *
   * @throws ApiError `env_not_found`. @throws BoundaryError as `scenarios`, with the error of the author's function,
   *   and if the scenario declares no tasks.
   */
  declaredTasks(environmentName: string, scenarioName: string): Promise<readonly unknown[]>;
  /** Stops starts in progress. Later calls fail. Never rejects. */
  close(): Promise<void>;
}

export interface CatalogueOptions {
  /**
   * Starts an environment and connects to it in a new session. Default: at once, without a limit of parallel starts.
   */
  readonly connect?: Connect | undefined;
  /** The current time in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /**
   * Searches for new environments. Called before an unknown name is refused and before all are listed. Never rejects.
   */
  readonly lookAgain?: (() => Promise<unknown>) | undefined;
}

interface Reading {
  readonly target: EnvironmentTarget;
  /** The hash of a module's code. Empty for other kinds of environments, which are read once. */
  readonly codeHash: string;
  readonly content: Promise<Content>;
  /** The check whether the environment starts. Its result is the list of warnings. */
  readonly start: StartCheck<readonly string[]>;
}

/**
 * A list that is read separately, because an environment that cannot list its tools may still have scenarios. Never
 * rejects.
 */
type EntryList<Entry> = Promise<PromiseSettledResult<readonly Entry[]>>;

interface Content {
  readonly description: string;
  readonly version: string;
  readonly scenarios: readonly ScenarioEntry[];
  /** Warnings about scenarios. Never rejects. */
  readonly warnings: Promise<readonly string[]>;
  readonly tools: EntryList<AgentToolEntry>;
  /** Short names of the scenarios that declare tasks. */
  readonly declaring: EntryList<string>;
  /** Resolves after the connection is closed. */
  readonly closed: Promise<void>;
}

/**
 * Makes a catalogue of configured environments. It connects to an environment at the first request, and again after the
 * code of its module has changed. Concurrent callers share one connection. A failure is not cached.
 */
export function createCatalogue(
  environments: ReadonlyMap<string, EnvironmentTarget>,
  { connect = connectEnvironment, now = Date.now, lookAgain }: CatalogueOptions = {},
): Catalogue {
  const readings = new Map<string, Reading>();
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // Each environment that is read at the same time adds a listener.
  const lists = new DeclaredTaskLists(closing.signal, connect);

  const targetOf = async (name: string): Promise<EnvironmentTarget> => {
    if (!environments.has(name)) await lookAgain?.();
    const target = environments.get(name);
    if (target === undefined) throw unknownEnvironment(name, [...environments.keys()]);
    return target;
  };

  const readingOf = async (name: string): Promise<Reading> => {
    const target = await targetOf(name);
    const codeHash = await codeHashOf(target);
    const known = readings.get(name);
    if (known?.codeHash === codeHash && known.target === target) return known;
    const content = readContent(target, connect, closing.signal);
    // For other kinds, reading uses a handshake that runs the initialize hook, so it is a start already.
    const isStartedByReading = target.kind !== 'module' && target.kind !== 'memory';
    const start = new StartCheck(
      async () => (isStartedByReading ? (await content).warnings : await startOnce(target, connect, closing.signal)),
      now,
    );
    const reading: Reading = { target, codeHash, content, start };
    readings.set(name, reading);
    content.catch(() => {
      if (readings.get(name) === reading) readings.delete(name);
    });
    return reading;
  };

  const read = async (name: string): Promise<Content> => (await readingOf(name)).content;

  /** @throws the error that kept the environment from listing. It is not cached. */
  const listOf = async <Entry>(
    name: string,
    pick: (content: Content) => EntryList<Entry>,
  ): Promise<readonly Entry[]> => {
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
    list: async () => {
      await lookAgain?.();
      return await Promise.all([...environments.keys()].map(describe));
    },
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
    target: targetOf,
    environments: () => [...environments.keys()],
    declaringScenarios: (name) => listOf(name, ({ declaring }) => declaring),
    declaredTasks: async (name, scenario) => {
      const target = await targetOf(name);
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

async function readContent(target: EnvironmentTarget, connect: Connect, signal: AbortSignal): Promise<Content> {
  // Reading without a handshake runs no initialize hook, so an environment does not launch a browser just to be listed.
  const isForReading = target.kind === 'module' || target.kind === 'memory';
  const client = await connect(target, { signal, isForReading });
  const limits = { signal, timeoutMs: LIST_TIMEOUT_MS };
  const tools = Promise.allSettled([client.tools(limits)]).then(([listed]) => listed);
  const declaring = Promise.allSettled([readDeclaringScenarios(client, limits)]).then(([listed]) => listed);
  try {
    if (!isForReading) await checkSandboxes(client, { signal });
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

/** Starts an environment as for a run and ends it. Returns its warnings. */
async function startOnce(target: EnvironmentTarget, connect: Connect, signal: AbortSignal): Promise<readonly string[]> {
  const client = await connect(target, { signal });
  try {
    await checkSandboxes(client, { signal });
    // The start has succeeded, so an error of this request is ignored.
    return await readScenarioWarnings(client, { signal, timeoutMs: LIST_TIMEOUT_MS }).catch(() => []);
  } finally {
    await client.close();
  }
}

/**
 * Checks that every environment of a catalogue can be started. Reasons and warnings go to the log only, because clients
 * that ask for readiness are not authenticated. Each reason is logged once, until it changes.
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

/** Errors are ignored, because the connection reports an unreadable directory with a better message. */
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
