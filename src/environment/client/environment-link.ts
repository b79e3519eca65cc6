import { randomBytes } from 'node:crypto';
import { basename, dirname, resolve } from 'node:path';
import { BoundaryError, messageOf } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import { META, PROCESS_VARIABLES } from '../../contract/names.ts';
import { builtFile } from '../../support/runtime/built-file.ts';
import { type Link, toLink } from '../mcp-client/link.ts';
import { openProcess, openStreamableHttp } from '../mcp-client/open-link.ts';
import { toChildVariables, withheldFromEnvironment } from '../process/child-variables.ts';
import { HARNESS_KEY_FD, PROTOCOL_FD } from '../process/environment-process.ts';
import { OutputTail, toPlainLine } from '../process/output-tail.ts';
import type { InMemoryEnvironment } from '../server/in-memory.ts';
import type { ConnectOptions, EnvironmentTarget } from './environment-client.ts';

/** Default limit in MiB for all processes of an environment together. */
const DEFAULT_MEMORY_MIB = 2_048;
/** Share of this memory for the heap of the environment's own process. Node.js needs memory besides the heap. */
const HEAP_SHARE = 0.75;

/** Milliseconds to tell a remote environment that its session is over. */
const END_SESSION_MS = 2_000;

/** A link to an environment of any kind. */
export interface EnvironmentLink extends Link {
  readonly kind: EnvironmentTarget['kind'];
  readonly harnessKey: string | undefined;
  /** The environment's name in messages before its handshake. It contains no path of the machine and no secret. */
  readonly label: string;
  /** True if its process also holds other sessions. */
  readonly isShared?: boolean;
}

export type Target<Kind extends EnvironmentTarget['kind']> = Extract<EnvironmentTarget, { kind: Kind }>;

/**
 * Starts a process of the module. It answers on an extra file descriptor and reads a new harness key from another one.
 */
export function openModule(target: Target<'module'>, options: ConnectOptions): EnvironmentLink {
  const path = resolve(target.path);
  const harnessKey = createHarnessKey();
  const link = openProcess({
    command: process.execPath,
    args: [...heapLimit(target), builtFile('environment/server/start/environment-main.js'), path],
    variables: {
      ...toChildVariables(process.env, target.env),
      [PROCESS_VARIABLES.protocolFd]: String(PROTOCOL_FD),
      [PROCESS_VARIABLES.harnessKeyFd]: String(HARNESS_KEY_FD),
    },
    withheld: withheldFromEnvironment(process.env),
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

/** Starts any program that serves MCP over its standard input and output. It gets its harness key in a variable. */
export function openCommand(target: Target<'command'>, options: ConnectOptions): EnvironmentLink {
  const harnessKey = createHarnessKey();
  const link = openProcess({
    command: target.command,
    args: target.args,
    variables: { ...toChildVariables(process.env, target.env), [PROCESS_VARIABLES.harnessKey]: harnessKey },
    withheld: withheldFromEnvironment(process.env),
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
 * Connects to a remote environment over Streamable HTTP.
 * @throws BoundaryError boundary `environment` if the address is invalid.
 */
export function openUrl(target: Target<'url'>): EnvironmentLink {
  const url = parseAddress(target.url);
  const link = openStreamableHttp({ url, headers: target.headers }, END_SESSION_MS);
  return { ...link, kind: 'url', harnessKey: target.harnessKey, label: `${url.origin}${url.pathname}` };
}

/**
 * Connects to an environment in this process. It needs no key, because only this process can reach it.
 * @throws BoundaryError boundary `environment` if it is not an environment, or if its constructor throws.
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

/** The module's name in messages, without a path of the machine. */
export function labelOf({ path }: Target<'module'>): string {
  const full = resolve(path);
  return `${basename(dirname(full))}/${basename(full)}`;
}

/** The memory limit in MiB, 0 for no limit. */
export function memoryOf({ limits }: EnvironmentTarget): number {
  return limits?.memoryMiB ?? DEFAULT_MEMORY_MIB;
}

/**
 * The heap limit for Node.js, unless the operator has set one. A full heap gives a better error message than a killed
 * process.
 */
export function heapLimit(target: EnvironmentTarget): readonly string[] {
  const memoryMiB = memoryOf(target);
  const isSet = target.limits?.memoryMiB === undefined && process.env.NODE_OPTIONS?.includes('--max-old-space-size');
  return memoryMiB === 0 || isSet ? [] : [`--max-old-space-size=${Math.max(1, Math.floor(memoryMiB * HEAP_SHARE))}`];
}

/** Makes a random key. Its prefix marks it as a secret, so that it is redacted from stored data. */
export function createHarnessKey(): string {
  return `hk_${randomBytes(32).toString('base64url')}`;
}

function parseAddress(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  const what = `${JSON.stringify(address)} is not an address of an environment`;
  throw new BoundaryError('environment', 'environment_failed', `${what}: it has to start with http:// or https://`);
}

/** `_meta` that identifies the sender as a harness and contains the key. */
export function harnessMeta({ harnessKey }: EnvironmentLink): JsonObject {
  return { [META.audience]: 'harness', ...(harnessKey === undefined ? {} : { [META.harnessKey]: harnessKey }) };
}
