import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { ApiError } from '../../contract/errors.ts';
import { didYouMean } from '../../support/text/did-you-mean.ts';
import {
  ACP_PREFIX,
  type AgentDefinition,
  type AgentEntry,
  KNOWN_AGENTS,
  type KnownAgent,
} from './agent-definition.ts';
import { behindShim } from './behind-shim.ts';
import { knownCommand, knownNeeds } from './known-agents.ts';
import { splitCommandLine } from './split-command-line.ts';

export interface AgentsOptions {
  /** Agents of the configuration, by name. They take precedence over the known ones. */
  readonly entries: Readonly<Record<string, AgentEntry>>;
  /** Folder that relative paths in their commands start from. */
  readonly directory: string;
  /** Folders to search for programs. Default: the `PATH` of this process. */
  readonly path?: string | undefined;
  /**
   * Folders that no sandbox shows, beside the user's home: those of the database, the configuration and the
   * environments.
   */
  readonly hidden?: readonly string[] | undefined;
}

/** The agents that play as commands (contract section 8). */
export interface Agents {
  /**
   * @throws ApiError agent_not_found with the available names; also for a known agent whose command is not installed.
   */
  find(name: string): AgentDefinition;
  /** Names of the configured agents and of the known ones that are installed. */
  readonly names: readonly string[];
  readonly hidden: readonly string[];
}

export function createAgents({
  entries,
  directory,
  path = process.env.PATH ?? '',
  hidden = [],
}: AgentsOptions): Agents {
  const installed = (name: string) => findProgram(name, path);
  const known = KNOWN_AGENTS.filter((name) => !Object.hasOwn(entries, name) && installed(name) !== undefined);
  const names = [...Object.keys(entries), ...known];
  return {
    names,
    hidden,
    find(name) {
      const entry = Object.hasOwn(entries, name) ? entries[name] : undefined;
      if (entry !== undefined) return configured(name, entry, { directory, installed });
      if (name.startsWith(ACP_PREFIX)) return overAcp(name, installed);
      if (!isKnown(name)) throw unknownAgent(name, names);
      const program = installed(name);
      if (program === undefined) {
        const message = `The agent ${name} is known, and its command is not installed: there is no program "${name}" on the PATH of this process.`;
        throw new ApiError('agent_not_found', message, { param: 'agent' });
      }
      return {
        name,
        command: knownCommand(name, program),
        protocol: 'exec',
        needs: knownNeeds(name),
        env: {},
        readable: [],
        version: versionOf(program),
        known: name,
      };
    },
  };
}

type FindProgram = (name: string) => string | undefined;

function configured(
  name: string,
  { command, version, readable, ...entry }: AgentEntry,
  { directory, installed }: { readonly directory: string; readonly installed: FindProgram },
): AgentDefinition {
  const [first = '', ...rest] = command;
  // Relative paths start at the configuration's folder, because the command runs in an empty directory.
  const toPath = (text: string) => (isRelativePath(text, directory) ? resolve(directory, text) : text);
  const program = first.includes('/') ? resolve(directory, first) : installed(first);
  if (program === undefined || !isProgram(program)) {
    const message = `The agent ${name} of the configuration cannot be started: there is no program ${JSON.stringify(first)}.`;
    throw new ApiError('agent_not_found', message, { param: 'agent' });
  }
  return {
    ...entry,
    name,
    command: [program, ...rest.map(toPath)],
    readable: readable.map((path) => resolve(directory, path)),
    version: version ?? null,
    known: knownBy(program),
  };
}

/** Makes an agent of `acp:<command line>`. The line is split into words like in a shell, without expansion. */
function overAcp(name: string, installed: FindProgram): AgentDefinition {
  const [first = '', ...rest] = splitCommandLine(name.slice(ACP_PREFIX.length));
  const program = isAbsolute(first) ? first : installed(first);
  if (program === undefined || !isProgram(program)) {
    const message = `The agent ${JSON.stringify(name)} cannot be started: there is no program ${JSON.stringify(first)} on the PATH of this process.`;
    throw new ApiError('agent_not_found', message, { param: 'agent' });
  }
  const known = knownBy(program);
  const needs = known === null ? 'openai' : knownNeeds(known);
  const version = versionOf(program);
  return { name, command: [program, ...rest], protocol: 'acp', needs, env: {}, readable: [], version, known };
}

function unknownAgent(name: string, names: readonly string[]): ApiError {
  const there = names.length === 0 ? 'there is none: name one in `agents` of proctor.config.ts' : names.join(', ');
  const message = `There is no agent ${JSON.stringify(name)} (${there}; or acp:<command>).${didYouMean(name, names)}`;
  return new ApiError('agent_not_found', message, { param: 'agent' });
}

function isKnown(name: string): name is KnownAgent {
  return (KNOWN_AGENTS as readonly string[]).includes(name);
}

/** Wrappers of a known agent, such as `claude-acp`, have its name in theirs. */
function knownBy(program: string): KnownAgent | null {
  const name = basename(program);
  return KNOWN_AGENTS.find((known) => name === known || new RegExp(`^${known}(-agent)?-acp$`).test(name)) ?? null;
}

function isRelativePath(text: string, directory: string): boolean {
  return text.includes('.') && !text.startsWith('-') && !isAbsolute(text) && existsSync(join(directory, text));
}

function findProgram(name: string, path: string): string | undefined {
  if (name === '' || name.includes('/')) return undefined;
  const places = path.split(delimiter).filter(isAbsolute);
  const program = places.map((folder) => join(folder, name)).find(isProgram);
  return program === undefined ? undefined : behindShim(program);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

const MAX_FOLDERS_UP = 6;

/** Version of the npm package that has the program; null if there is none. */
function versionOf(program: string): string | null {
  let folder = dirname(realpathSync(program));
  for (let up = 0; up < MAX_FOLDERS_UP; up += 1, folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (!existsSync(file)) continue;
    try {
      const { version }: { version?: unknown } = JSON.parse(readFileSync(file, 'utf8'));
      if (typeof version === 'string') return version;
    } catch {
      return null;
    }
  }
  return null;
}
