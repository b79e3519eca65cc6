import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { ApiError } from '../../contract/errors.ts';
import { PROCESS_VARIABLES } from '../../contract/names.ts';
import type { EnvironmentLimits, EnvironmentTarget } from '../../environment/client/environment-client.ts';
import type { SandboxSettings } from '../../environment/sandbox/open-engine.ts';
import { didYouMean } from '../../support/text/did-you-mean.ts';
import { withScheme } from '../../support/text/with-scheme.ts';
import type { ParsedConfig } from './config-schema.ts';

const MODULE_FILES = ['environment.ts', 'environment.js'] as const;

export interface NamedEnvironment {
  readonly name: string;
  readonly target: EnvironmentTarget;
}

/**
 * Finds every `environments/<name>/environment.ts|js` in a directory. An environment of the configuration replaces one
 * of the same name (contract section 5).
 *
 * @throws Error for a configured path without a module.
 */
export function findEnvironments(directory: string, config: ParsedConfig): ReadonlyMap<string, EnvironmentTarget> {
  const found = new Map<string, EnvironmentTarget>();
  const root = join(directory, 'environments');
  const names = existsSync(root) ? readdirSync(root).sort() : [];
  for (const name of names) {
    const path = moduleIn(join(root, name));
    if (path !== undefined) found.set(name, { kind: 'module', path });
  }
  for (const [name, entry] of Object.entries(config.environments)) found.set(name, toTarget(directory, name, entry));
  return found;
}

/**
 * Gives the process of an environment the settings of sandboxes, in a variable that it takes away from its programs. The
 * variables of its configuration win.
 */
export function withSandbox(target: EnvironmentTarget, sandbox: SandboxSettings): EnvironmentTarget {
  if ((target.kind !== 'module' && target.kind !== 'command') || Object.keys(sandbox).length === 0) return target;
  return { ...target, env: { [PROCESS_VARIABLES.sandbox]: JSON.stringify(sandbox), ...target.env } };
}

/**
 * Finds an environment by its name, its URL, the path of its module, or a directory with a module.
 *
 * @throws ApiError env_not_found with the known names.
 */
export function resolveEnvironment(
  nameOrPathOrUrl: string,
  known: ReadonlyMap<string, EnvironmentTarget>,
  directory: string,
  sandbox: SandboxSettings = {},
): NamedEnvironment {
  const target = known.get(nameOrPathOrUrl);
  if (target !== undefined) return { name: nameOrPathOrUrl, target };
  if (/^https?:\/\//i.test(nameOrPathOrUrl) && URL.canParse(nameOrPathOrUrl)) {
    return { name: new URL(nameOrPathOrUrl).host, target: { kind: 'url', url: nameOrPathOrUrl } };
  }
  const path = toModulePath(resolve(directory, nameOrPathOrUrl));
  // A module of the configuration keeps its settings, even when it is named by its path.
  const isAt = (each: EnvironmentTarget) => each.kind === 'module' && each.path === path;
  if (path !== undefined)
    return {
      name: nameOf(path),
      target: [...known.values()].find(isAt) ?? withSandbox({ kind: 'module', path }, sandbox),
    };
  const names = [...known.keys()].join(', ');
  throw new ApiError(
    'env_not_found',
    `There is no environment ${JSON.stringify(nameOrPathOrUrl)}: it is neither a known name (${names || 'there is none'}), ` +
      `nor the path of a module, nor a URL.${withScheme(nameOrPathOrUrl) ?? didYouMean(nameOrPathOrUrl, known.keys())}`,
    { param: 'env_name' },
  );
}

type Entry = ParsedConfig['environments'][string];

function toTarget(directory: string, name: string, entry: Entry): EnvironmentTarget {
  if (typeof entry === 'string') return toTarget(directory, name, { path: entry });
  const limits = toLimits(entry);
  if ('path' in entry) {
    const path = toModulePath(resolve(directory, entry.path));
    if (path !== undefined) return { kind: 'module', path, ...(entry.env && { env: entry.env }), ...limits };
    throw new Error(
      `The configuration's environment ${JSON.stringify(name)}: there is no module at ${JSON.stringify(entry.path)}.`,
    );
  }
  if ('command' in entry) {
    const { command, args, env, cwd } = entry;
    return {
      kind: 'command',
      command,
      args,
      cwd: cwd === undefined ? directory : resolve(directory, cwd),
      ...(env === undefined ? {} : { env }),
      ...limits,
    };
  }
  const { url, headers, harnessKey } = entry;
  return {
    kind: 'url',
    url,
    ...(headers === undefined ? {} : { headers }),
    ...(harnessKey === undefined ? {} : { harnessKey }),
    ...limits,
  };
}

function toLimits(entry: Exclude<Entry, string>): { readonly limits?: EnvironmentLimits } {
  const { concurrency } = entry;
  const memoryMiB = 'memoryMiB' in entry ? entry.memoryMiB : undefined;
  const sessionsPerProcess = 'sessionsPerProcess' in entry ? entry.sessionsPerProcess : undefined;
  const limits = {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(memoryMiB === undefined ? {} : { memoryMiB }),
    ...(sessionsPerProcess === undefined ? {} : { sessionsPerProcess }),
  };
  return Object.keys(limits).length === 0 ? {} : { limits };
}

function toModulePath(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  return statSync(path).isDirectory() ? moduleIn(path) : path;
}

function moduleIn(directory: string): string | undefined {
  return MODULE_FILES.map((file) => join(directory, file)).find((path) => existsSync(path));
}

/** Name of an environment: `environments/counter/environment.ts` is `counter`, `tools/shop.ts` is `shop`. */
function nameOf(path: string): string {
  const file = basename(path).replace(/\.[cm]?[jt]s$/, '');
  return file === 'environment' || file === 'index' ? basename(dirname(path)) : file;
}
