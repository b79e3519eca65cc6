import { randomBytes } from 'node:crypto';
import { basename, dirname, resolve } from 'node:path';
import { BoundaryError, messageOf } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import { META, PROCESS_VARIABLES } from '../contract/names.ts';
import type { InMemoryEnvironment } from '../mcp/in-memory.ts';
import { type Link, toLink } from '../mcp-client/link.ts';
import { openProcess, openStreamableHttp } from '../mcp-client/open-link.ts';
import { toChildVariables } from '../process/child-variables.ts';
import { HARNESS_KEY_FD, PROTOCOL_FD } from '../process/environment-process.ts';
import { OutputTail, toPlainLine } from '../process/output-tail.ts';
import { builtFile } from '../runtime/built-file.ts';
import type { ConnectOptions, EnvironmentTarget } from './environment-client.ts';

/** MiB that the processes of an environment may hold together, where its configuration does not say. */
const DEFAULT_MEMORY_MIB = 2_048;
/** Share of it for the heap of the environment's own process: Node.js needs some beside the heap. */
const HEAP_SHARE = 0.75;

/** How long an environment that runs elsewhere is given to hear that its session is over. */
const END_SESSION_MS = 2_000;

/** A link to an environment, whatever it is made of. */
export interface EnvironmentLink extends Link {
  readonly kind: EnvironmentTarget['kind'];
  readonly harnessKey: string | undefined;
  /** Names the environment in messages until it has said its own name. It holds no path of the machine and no secret. */
  readonly label: string;
  /** True where its process holds other sessions too. */
  readonly isShared?: boolean;
}

export type Target<Kind extends EnvironmentTarget['kind']> = Extract<EnvironmentTarget, { kind: Kind }>;

/** A process of the module, told to answer on a descriptor of its own, with a fresh harness key on another. */
export function openModule(target: Target<'module'>, options: ConnectOptions): EnvironmentLink {
  const path = resolve(target.path);
  const harnessKey = createHarnessKey();
  const link = openProcess({
    command: process.execPath,
    args: [...heapLimit(target), builtFile('mcp/environment-main.js'), path],
    variables: {
      ...toChildVariables(process.env, target.env),
      [PROCESS_VARIABLES.protocolFd]: String(PROTOCOL_FD),
      [PROCESS_VARIABLES.harnessKeyFd]: String(HARNESS_KEY_FD),
    },
    hasOwnDescriptors: true,
    harnessKey,
    folders: [dirname(dirname(path))],
    onLog: options.onLog,
    onReady: options.onReady,
    startsLow: 'session',
    memoryMiB: memoryOf(target),
  });
  return { ...link, kind: 'module', harnessKey, label: labelOf(target) };
}

/** Any program that serves MCP over its standard input and output. Its harness key is in a variable. */
export function openCommand(target: Target<'command'>, options: ConnectOptions): EnvironmentLink {
  const harnessKey = createHarnessKey();
  const link = openProcess({
    command: target.command,
    args: target.args,
    variables: { ...toChildVariables(process.env, target.env), [PROCESS_VARIABLES.harnessKey]: harnessKey },
    cwd: target.cwd,
    hasOwnDescriptors: false,
    harnessKey,
    folders: target.cwd === undefined ? [] : [target.cwd],
    onLog: options.onLog,
    memoryMiB: memoryOf(target),
  });
  return { ...link, kind: 'command', harnessKey, label: basename(target.command) };
}

/**
 * An environment that runs elsewhere, over Streamable HTTP.
 * @throws BoundaryError boundary `environment` when the address is none.
 */
export function openUrl(target: Target<'url'>): EnvironmentLink {
  const url = parseAddress(target.url);
  const link = openStreamableHttp({ url, headers: target.headers }, END_SESSION_MS);
  return { ...link, kind: 'url', harnessKey: target.harnessKey, label: `${url.origin}${url.pathname}` };
}

/**
 * An environment in this process, over linked transports. It needs no key: nobody else holds the other end.
 * @throws BoundaryError boundary `environment` for what is not an environment, or when its constructor throws.
 */
export function openMemory(target: Target<'memory'>, { onLog }: ConnectOptions): EnvironmentLink {
  const tail = new OutputTail();
  const report = (message: string) => {
    for (const line of message.split('\n')) tail.add(toPlainLine(line, undefined));
    onLog?.({ level: 'error', logger: 'environment', message });
  };
  const opened = openInProcess(target, report);
  const link = toLink(
    opened.clientTransport,
    () => opened.close(),
    () => tail.text(),
  );
  return { ...link, kind: 'memory', harnessKey: undefined, label: 'in this process' };
}

function openInProcess(target: Target<'memory'>, report: (message: string) => void): InMemoryEnvironment {
  try {
    return target.open(report);
  } catch (error) {
    const message = `The environment in this process could not be made: ${messageOf(error)}`;
    throw new BoundaryError('environment', 'environment_failed', message, { cause: error });
  }
}

/** Names a module in messages, without a path of the machine. */
export function labelOf({ path }: Target<'module'>): string {
  const full = resolve(path);
  return `${basename(dirname(full))}/${basename(full)}`;
}

/** MiB; 0 for no limit. */
export function memoryOf({ limits }: EnvironmentTarget): number {
  return limits?.memoryMiB ?? DEFAULT_MEMORY_MIB;
}

/** Where nobody has set one: a heap that is full says so in better words than a process that is killed. */
export function heapLimit(target: EnvironmentTarget): readonly string[] {
  const memoryMiB = memoryOf(target);
  const isSet = target.limits?.memoryMiB === undefined && process.env.NODE_OPTIONS?.includes('--max-old-space-size');
  return memoryMiB === 0 || isSet ? [] : [`--max-old-space-size=${Math.max(1, Math.floor(memoryMiB * HEAP_SHARE))}`];
}

/** By its prefix it is known for what it is wherever it turns up, and taken out of what is stored. */
export function createHarnessKey(): string {
  return `hk_${randomBytes(32).toString('base64url')}`;
}

function parseAddress(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  const what = `${JSON.stringify(address)} is not an address of an environment`;
  throw new BoundaryError('environment', 'environment_failed', `${what}: it has to start with http:// or https://`);
}

/** Says that the sender of a message is a harness, and shows the key. */
export function harnessMeta({ harnessKey }: EnvironmentLink): JsonObject {
  return { [META.audience]: 'harness', ...(harnessKey === undefined ? {} : { [META.harnessKey]: harnessKey }) };
}
