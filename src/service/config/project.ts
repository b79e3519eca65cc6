import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual, parseEnv } from 'node:util';
import { messageOf } from '../../contract/errors.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import { type Agents, createAgents } from '../../rollout/agents/agents.ts';
import { findEnvironments, withSandbox } from './find-environments.ts';
import { refuseKeysOfOthers } from './known-secrets.ts';
import { configVersion, loadConfig } from './load-config.ts';
import { readSettings, type Settings } from './settings.ts';

/** The settings, environments and agents of a working directory (contract section 5). */
export interface Project {
  readonly directory: string;
  readonly settings: Settings;
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  /** External agent programs. */
  readonly agents: Agents;
  /**
   * Searches the environments again, and reloads the configuration if its file has changed. Only `environments` and
   * `agents` are updated; settings stay. An invalid configuration changes nothing.
   *
   * @param onChange called before a new environment or agent is available.
   * @returns an error message, or undefined.
   */
  lookAgain(onChange?: () => void): Promise<string | undefined>;
}

/**
 * Reads `.env`, `proctor.config.ts|js`, the environment variables and the environments of a directory. `.env` never
 * overrides a variable that is set.
 *
 * @throws Error with the file or variable at fault and a valid value.
 */
export async function loadProject(
  directory: string = process.cwd(),
  variables: NodeJS.ProcessEnv = process.env,
): Promise<Project> {
  loadDotenv(directory, variables);
  let version = configVersion(directory);
  let config = await loadConfig(directory);
  const settings = readSettings(variables, config, directory);
  const find = () => {
    const all = [...findEnvironments(directory, config)];
    return new Map(all.map(([name, target]) => [name, withSandbox(target, settings.sandbox)]));
  };
  const environments = find();
  refuseKeysOfOthers({ settings, environments });
  const createAgentsNow = () => {
    const hidden = ownFolders(directory, settings, environments);
    return createAgents({ entries: config.agents, directory, path: variables.PATH, hidden });
  };
  let agents = createAgentsNow();
  let used = config;
  let wrong: string | undefined;
  const look = async (onChange: () => void) => {
    const latest = configVersion(directory);
    if (latest !== version) {
      // An invalid file is not loaded again until it changes.
      version = latest;
      wrong = undefined;
      config = await loadConfig(directory, latest).catch((error: unknown) => {
        wrong = messageOf(error);
        return config;
      });
    }
    const found = find();
    if (config === used && isDeepStrictEqual(found, environments)) return;
    refuseKeysOfOthers({ settings, environments: found });
    used = config;
    replaceAll(environments, found);
    agents = createAgentsNow();
    onChange();
  };
  let looking: Promise<void> | undefined;
  return {
    directory,
    settings,
    environments,
    agents: {
      find: (name) => agents.find(name),
      get names() {
        return agents.names;
      },
      get hidden() {
        return agents.hidden;
      },
    },
    async lookAgain(onChange = () => {}) {
      looking ??= look(onChange).finally(() => {
        looking = undefined;
      });
      return await looking.then(() => wrong, messageOf);
    },
  };
}

/**
 * Updates the map in the order of `found`. An unchanged target stays the same object, since processes are keyed by
 * it.
 */
function replaceAll(known: Map<string, EnvironmentTarget>, found: ReadonlyMap<string, EnvironmentTarget>): void {
  const before = new Map(known);
  known.clear();
  for (const [name, target] of found) {
    const same = before.get(name);
    known.set(name, same !== undefined && isDeepStrictEqual(same, target) ? same : target);
  }
}

/** Folders with answer keys and traces, which agents must not read. */
function ownFolders(directory: string, { databaseUrl }: Settings, environments: Project['environments']): string[] {
  const modules = [...environments.values()].flatMap((target) =>
    target.kind === 'module' ? [dirname(target.path)] : [],
  );
  const [, file] = /^sqlite:(?!:memory:)(.+)$/.exec(databaseUrl) ?? [];
  return [directory, ...(file === undefined ? [] : [dirname(resolve(directory, file))]), ...modules];
}

function loadDotenv(directory: string, variables: NodeJS.ProcessEnv): void {
  const path = join(directory, '.env');
  if (!existsSync(path)) return;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`.env could not be read: ${messageOf(error)}`, { cause: error });
  }
  for (const [name, value] of Object.entries(parseEnv(text))) variables[name] ??= value;
}
