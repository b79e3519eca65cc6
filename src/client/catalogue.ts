import { ApiError, BoundaryError, messageOf } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import { preview, validateJsonSchema } from '../contract/json-schema.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import { connectEnvironment } from './connect.ts';
import type { AgentToolEntry, EnvironmentTarget } from './environment-client.ts';
import { hashEnvironmentCode } from './module-hash.ts';

/** Names that a message lists before it says how many more there are. */
const MAX_LISTED_NAMES = 20;
/** Arguments at fault that a message names. */
const MAX_LISTED_ISSUES = 20;
/** For each of the lists that are read of an environment. */
const LIST_TIMEOUT_MS = 60_000;

export interface CatalogueEntry {
  readonly name: string;
  readonly description: string;
  readonly version: string;
}

/** What the environments offer, read from themselves when it is first asked for. Whoever created it closes it. */
export interface Catalogue {
  /**
   * Every environment by its configured name. One that cannot be started is listed too, with the reason as its
   * description and an empty version: it must not hide the others.
   */
  list(): Promise<readonly CatalogueEntry[]>;
  /** @throws ApiError `env_not_found`. @throws BoundaryError `environment` when it cannot be started. */
  scenarios(environmentName: string): Promise<readonly ScenarioEntry[]>;
  /**
   * What an agent is listed before a scenario has begun: never what is the harness's, nor what an initialize hook adds.
   *
   * @throws ApiError `env_not_found`. @throws BoundaryError as `scenarios`, and when its tools cannot be listed.
   */
  tools(environmentName: string): Promise<readonly AgentToolEntry[]>;
  /**
   * @param scenarioName its short name, or `<environment>:<short name>`.
   * @throws ApiError `env_not_found` or `scenario_not_found`. @throws BoundaryError as `scenarios`.
   */
  find(environmentName: string, scenarioName: string): Promise<ScenarioEntry>;
  /** Ends what is being started. Later calls fail. Never rejects. */
  close(): Promise<void>;
}

interface Reading {
  /** The hash of a module's code; empty for the other kinds, which are read once. */
  readonly codeHash: string;
  readonly content: Promise<Content>;
}

interface Content {
  readonly description: string;
  readonly version: string;
  readonly scenarios: readonly ScenarioEntry[];
  /** Apart from the rest: an environment whose tools cannot be listed, or not yet, has scenarios all the same. Never rejects. */
  readonly tools: Promise<PromiseSettledResult<readonly AgentToolEntry[]>>;
  /** Settles once its connection is closed. */
  readonly closed: Promise<void>;
}

/**
 * A catalogue of configured environments. Each is connected to once, when it is first asked about, and again when the
 * code of its module has changed; callers that come meanwhile share that connection. A failure is not remembered.
 */
export function createCatalogue(environments: ReadonlyMap<string, EnvironmentTarget>): Catalogue {
  const readings = new Map<string, Reading>();
  const closing = new AbortController();

  const read = async (name: string): Promise<Content> => {
    const target = environments.get(name);
    if (target === undefined) throw unknownEnvironment(name, [...environments.keys()]);
    const codeHash = target.kind === 'module' ? await hashOf(target.path) : '';
    const known = readings.get(name);
    if (known?.codeHash === codeHash) return known.content;
    const content = readContent(target, closing.signal);
    const reading = { codeHash, content };
    readings.set(name, reading);
    content.catch(() => {
      if (readings.get(name) === reading) readings.delete(name);
    });
    return content;
  };

  const describe = async (name: string): Promise<CatalogueEntry> => {
    try {
      const { description, version } = await read(name);
      return { name, description, version };
    } catch (error) {
      return { name, description: messageOf(error), version: '' };
    }
  };

  return {
    list: () => Promise.all([...environments.keys()].map(describe)),
    scenarios: async (name) => (await read(name)).scenarios,
    tools: async (name) => {
      const content = await read(name);
      const tools = await content.tools;
      if (tools.status === 'fulfilled') return tools.value;
      const known = await readings.get(name)?.content.catch(() => undefined);
      if (known === content) readings.delete(name);
      throw tools.reason;
    },
    find: async (name, scenarioName) => {
      const { scenarios } = await read(name);
      const found = scenarios.find((entry) => entry.short_name === scenarioName || entry.name === scenarioName);
      const byConfiguredName = () => scenarios.find((entry) => `${name}:${entry.short_name}` === scenarioName);
      const entry = found ?? byConfiguredName();
      if (entry === undefined) throw unknownScenario(name, scenarioName, scenarios);
      return entry;
    },
    close: async () => {
      closing.abort(new ApiError('shutting_down', 'The server is shutting down', { headers: { 'retry-after': '5' } }));
      await Promise.allSettled([...readings.values()].map(async ({ content }) => (await content).closed));
    },
  };
}

/**
 * Checks the arguments of a scenario by its schema, as its environment will.
 *
 * @throws ApiError `invalid_scenario_args`: its message lists all that is wrong, its `param` is the first of them.
 * @throws BoundaryError `environment` when the schema itself is not one.
 */
export function checkScenarioArgs(entry: ScenarioEntry, args: JsonObject): void {
  const issues = validateBy(entry, args);
  const [first] = issues;
  if (first === undefined) return;
  const toParam = (path: string) => (path === '' ? 'scenario_args' : `scenario_args.${path}`);
  const shown = issues.slice(0, MAX_LISTED_ISSUES).map(({ path, message }) => `${toParam(path)} ${message}`);
  const more = issues.length > shown.length ? [`and ${issues.length - shown.length} more`] : [];
  const listed = [...shown, ...more].join('; ');
  const names = entry.arguments.map((argument) => argument.name);
  const takes = names.length === 0 ? 'It takes no arguments' : `Its arguments are ${names.join(', ')}`;
  throw new ApiError('invalid_scenario_args', `Scenario "${entry.short_name}": ${listed}. ${takes}.`, {
    param: toParam(first.path),
  });
}

function validateBy(entry: ScenarioEntry, args: JsonObject): ReturnType<typeof validateJsonSchema> {
  try {
    return validateJsonSchema(entry.args_schema, args);
  } catch (error) {
    const message = `The arguments of the scenario "${entry.name}" have a schema that is not valid: ${messageOf(error)}`;
    throw new BoundaryError('environment', 'environment_failed', message, { cause: error });
  }
}

async function readContent(target: EnvironmentTarget, signal: AbortSignal): Promise<Content> {
  // What launches a browser for each session should not do so to be listed.
  const isForReading = target.kind === 'module' || target.kind === 'memory';
  const client = await connectEnvironment(target, { signal, isForReading });
  const limits = { signal, timeoutMs: LIST_TIMEOUT_MS };
  const tools = Promise.allSettled([client.tools(limits)]).then(([listed]) => listed);
  try {
    const scenarios = await client.scenarios(limits);
    const [description = ''] = client.instructions.trim().split('\n');
    const closed = tools.then(() => client.close());
    return { description: description.trim(), version: client.version, scenarios, tools, closed };
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** Whether every environment of a catalogue can be started. */
export function catalogueCheck(catalogue: Catalogue): { readonly name: string; failed(): Promise<readonly string[]> } {
  return {
    name: 'environments',
    failed: async () =>
      (await catalogue.list()).filter(({ version }) => version === '').map(({ name }) => `environment ${name}`),
  };
}

/** A directory that cannot be read is reported by the connection, in better words. */
async function hashOf(path: string): Promise<string> {
  try {
    return await hashEnvironmentCode(path);
  } catch {
    return '';
  }
}

function unknownEnvironment(name: string, existing: readonly string[]): ApiError {
  const message = `No environment is named ${preview(name)}. ${listNames('Environments', existing)}`;
  return new ApiError('env_not_found', message, { param: 'env_name' });
}

function unknownScenario(environment: string, name: string, scenarios: readonly ScenarioEntry[]): ApiError {
  const existing = scenarios.map((entry) => entry.short_name);
  const message = `The environment "${environment}" has no scenario ${preview(name)}. ${listNames('Scenarios', existing)}`;
  return new ApiError('scenario_not_found', message, { param: 'scenario_name' });
}

function listNames(what: string, names: readonly string[]): string {
  if (names.length === 0) return `${what}: none.`;
  const more = names.length > MAX_LISTED_NAMES ? ` and ${names.length - MAX_LISTED_NAMES} more` : '';
  return `${what}: ${names.slice(0, MAX_LISTED_NAMES).join(', ')}${more}.`;
}
