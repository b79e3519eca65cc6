import { preview } from '../../support/schema/json-schema.ts';
import { checkName } from './names.ts';

/**
 * The MCP server that an environment connects to: a program that serves MCP over its standard input and output, an
 * address of Streamable HTTP (or of the older HTTP+SSE), or a server in this process.
 */
export type ConnectionTarget = CommandTarget | UrlTarget | ServerTarget;

/**
 * A target, or a function that is called for each new session and returns its target. Use a function for things that
 * each session needs for itself, such as a folder.
 */
export type ConnectionSource = ConnectionTarget | (() => ConnectionTarget | Promise<ConnectionTarget>);

/**
 * A program, started without a shell. It gets the variables of the environment's process except the secrets (see
 * `docs/composition.md`), and the variables in `env`.
 */
export interface CommandTarget {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The working folder of the program. Default: that of the environment's process. */
  readonly cwd?: string;
}

export interface UrlTarget {
  /** An address that starts with `http://` or `https://`. */
  readonly url: string;
  /**
   * Headers that are sent with every request, such as an authorization. Headers of the agent's requests are not passed
   * on.
   */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ServerTarget {
  /**
   * A server of the MCP SDK (any object with `connect(transport)`), a function that makes one for each session, or an
   * environment: a class that extends `EnvironmentServer`, a factory, or an instance.
   */
  readonly server: unknown;
}

export interface ConnectionOptions {
  /**
   * Prefix of the names of tools and prompts: with `fs`, the tool `read_file` becomes `fs_read_file`. Default: no
   * prefix.
   */
  readonly prefix?: string;
  /** Patterns (`*` matches any run of characters) of the original names of the tools to include. Default: all. */
  readonly include?: readonly string[];
  /** Patterns of the original names of the tools to leave out, among those that `include` matches. */
  readonly exclude?: readonly string[];
  /** The audience of the server's tools, resources and prompts. Default `agent`; `harness` hides them from agents. */
  readonly audience?: 'agent' | 'harness';
}

export interface ConnectionDefinition {
  /** The name of the connection in messages and logs. */
  readonly name: string;
  readonly source: ConnectionSource;
  readonly prefix: string | undefined;
  readonly include: readonly string[] | undefined;
  readonly exclude: readonly string[];
  readonly audience: 'agent' | 'harness';
}

/**
 * Checks the arguments of `env.connect`. It does not connect yet.
 *
 * @throws TypeError for a bad name, target or option.
 */
export function defineConnection(
  name: string,
  source: ConnectionSource,
  options: ConnectionOptions = {},
): ConnectionDefinition {
  checkName('Connection', name);
  const label = `Connection "${name}"`;
  if (typeof source !== 'function') checkTarget(label, source);
  const { prefix, include, exclude = [], audience = 'agent' } = options;
  if (prefix !== undefined) checkName(`${label}, prefix`, prefix);
  for (const [key, patterns] of [['include', include ?? []] as const, ['exclude', exclude] as const]) {
    if (Array.isArray(patterns) && patterns.every((pattern) => typeof pattern === 'string')) continue;
    throw new TypeError(`${label}: ${key} has to be a list of patterns of tool names, got ${preview(patterns)}`);
  }
  if (audience !== 'agent' && audience !== 'harness') {
    throw new TypeError(`${label}: audience has to be "agent" or "harness", got ${preview(audience)}`);
  }
  return { name, source, prefix, include, exclude, audience };
}

/**
 * The target that a session connects to. @throws TypeError for an invalid target; any error that the author's function
 * throws.
 */
export async function openTarget({ name, source }: ConnectionDefinition): Promise<ConnectionTarget> {
  if (typeof source !== 'function') return source;
  const target = await source();
  checkTarget(`Connection "${name}"`, target);
  return target;
}

function checkTarget(label: string, target: unknown): void {
  const given = typeof target === 'object' && target !== null ? target : {};
  const kinds = ['command', 'url', 'server'].filter((kind) => kind in given);
  if (kinds.length !== 1) {
    throw new TypeError(
      `${label} takes { command, args, env }, { url, headers } or { server }, one of the three; got ${describeKeys(target)}`,
    );
  }
  if ('command' in given) checkCommand(label, given as Partial<CommandTarget>);
  else if ('url' in given) checkUrl(label, given.url);
  else if ('server' in given) checkServer(label, given.server);
}

function checkCommand(label: string, { command, args = [] }: Partial<CommandTarget>): void {
  if (typeof command !== 'string' || command.trim() === '') {
    throw new TypeError(`${label}: command has to be the name or path of a program, got ${preview(command)}`);
  }
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === 'string')) {
    throw new TypeError(`${label}: args has to be a list of strings, got ${preview(args)}`);
  }
}

function checkUrl(label: string, url: unknown): void {
  const protocol = typeof url === 'string' && URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol === 'http:' || protocol === 'https:') return;
  // The message does not show the address, because it may contain a password.
  throw new TypeError(`${label}: url has to be an address that starts with http:// or https://`);
}

function checkServer(label: string, server: unknown): void {
  if (typeof server === 'function' || (typeof server === 'object' && server !== null)) return;
  throw new TypeError(
    `${label}: server has to be an MCP server, a function that makes one, or an environment, got ${preview(server)}`,
  );
}

/** Lists only the names of the keys: the values may be secrets. */
function describeKeys(target: unknown): string {
  if (typeof target !== 'object' || target === null) return preview(target);
  return `an object with the keys ${preview(Object.keys(target))}`;
}
