import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { EngineError } from '../engine.ts';

/** Where an engine listens: a Unix socket, or a host with or without TLS. */
export interface EngineAddress {
  /** The address as an operator writes it, for messages. */
  readonly url: string;
  readonly socketPath?: string;
  readonly host?: string;
  readonly port?: number;
  readonly tls?: {
    readonly ca: Buffer | undefined;
    readonly cert: Buffer | undefined;
    readonly key: Buffer | undefined;
  };
}

export interface AddressOptions {
  /** An address such as `unix:///run/docker.sock`. It wins over all others. */
  readonly host?: string | undefined;
  /** Variables of the operator: `DOCKER_HOST`, `DOCKER_CONTEXT`, `XDG_RUNTIME_DIR` and others. */
  readonly variables?: Readonly<Record<string, string | undefined>> | undefined;
}

const TLS_PORT = 2376;
const PLAIN_PORT = 2375;
const WAY_OUT =
  'start Docker or Podman ("podman system service"), or set DOCKER_HOST to the address of one, such as unix:///run/docker.sock';

/**
 * Finds the engine as the docker command does: `DOCKER_HOST`, the active context, then the usual sockets of Docker and of
 * Podman.
 *
 * @throws EngineError that names what was tried, and the way out.
 */
export async function findAddress({ host, variables = {} }: AddressOptions): Promise<EngineAddress> {
  const home = variables.HOME ?? homedir();
  const config = variables.DOCKER_CONFIG ?? join(home, '.docker');
  const named = host ?? variables.DOCKER_HOST;
  if (named !== undefined && named !== '') {
    const folder = variables.DOCKER_CERT_PATH ?? config;
    return await toAddress(named, variables.DOCKER_TLS_VERIFY ? folder : undefined);
  }
  const context = await activeContext(config, variables.DOCKER_CONTEXT);
  if (context !== undefined) return await toAddress(context.host, context.tlsFolder);
  const sockets = ['/var/run/docker.sock', join(home, '.docker/run/docker.sock')];
  const runtime = variables.XDG_RUNTIME_DIR;
  if (runtime !== undefined) sockets.push(join(runtime, 'docker.sock'), join(runtime, 'podman/podman.sock'));
  sockets.push('/run/podman/podman.sock');
  for (const socketPath of sockets) {
    if (await isSocket(socketPath)) return { url: `unix://${socketPath}`, socketPath };
  }
  throw new EngineError('unreachable', `No container engine was found at ${sockets.join(', ')}: ${WAY_OUT}`);
}

/** The sentence about an engine that refuses connections. */
export function unreachable(address: EngineAddress, cause: NodeJS.ErrnoException): EngineError {
  const reasons: Readonly<Record<string, string>> = {
    EACCES: 'this user may not use its socket: add the user to the group of the socket, or run rootless Podman',
    ENOENT: `there is no such socket: ${WAY_OUT}`,
    ECONNREFUSED: `nobody listens there: ${WAY_OUT}`,
  };
  const reason = reasons[cause.code ?? ''] ?? `${cause.message}: see its log, or ${WAY_OUT}`;
  return new EngineError('unreachable', `The container engine at ${address.url} does not answer: ${reason}`, { cause });
}

async function toAddress(text: string, tlsFolder: string | undefined): Promise<EngineAddress> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'unix:') return { url: text, socketPath: decodeURIComponent(url.pathname) };
  if (url?.protocol === 'ssh:') {
    const message = `The container engine at ${text} is reached by SSH, which is not supported`;
    throw new EngineError(
      'refused',
      `${message}: forward its socket (ssh -L), and set DOCKER_HOST to the local socket`,
    );
  }
  const isSecure = url?.protocol === 'https:' || tlsFolder !== undefined;
  if (url === undefined || !['tcp:', 'http:', 'https:'].includes(url.protocol)) {
    const message = `The address of the container engine is ${JSON.stringify(text)}`;
    throw new EngineError('refused', `${message}; it has to begin with unix:// or tcp://`);
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? (isSecure ? TLS_PORT : PLAIN_PORT) : Number(url.port);
  if (!isSecure) return { url: text, host, port };
  const [ca, cert, key] = await Promise.all(
    ['ca.pem', 'cert.pem', 'key.pem'].map((name) =>
      readIfThere(tlsFolder === undefined ? name : join(tlsFolder, name)),
    ),
  );
  return { url: text, host, port, tls: { ca, cert, key } };
}

interface Context {
  readonly host: string;
  readonly tlsFolder: string | undefined;
}

/** The context that `docker context use` has chosen. The default context names no address. */
async function activeContext(config: string, chosen: string | undefined): Promise<Context | undefined> {
  const settings = parseObject(await readIfThere(join(config, 'config.json')));
  const name = chosen ?? settings?.currentContext;
  if (typeof name !== 'string' || name === '' || name === 'default') return undefined;
  const id = createHash('sha256').update(name).digest('hex');
  const meta = parseObject(await readIfThere(join(config, 'contexts/meta', id, 'meta.json')));
  const endpoints = meta?.Endpoints as { docker?: { Host?: unknown } } | undefined;
  const host = endpoints?.docker?.Host;
  if (typeof host !== 'string' || host === '') {
    const message = `The Docker context ${JSON.stringify(name)} has no address`;
    throw new EngineError('refused', `${message}: choose another with "docker context use", or set DOCKER_HOST`);
  }
  const tlsFolder = join(config, 'contexts/tls', id, 'docker');
  const hasTls = (await readIfThere(join(tlsFolder, 'ca.pem'))) !== undefined;
  return { host, tlsFolder: hasTls ? tlsFolder : undefined };
}

function parseObject(text: Buffer | undefined): Record<string, unknown> | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text.toString('utf8')) as Record<string, unknown>);
  } catch {
    return undefined; // The docker command warns of it and goes on.
  }
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  return await readFile(path).catch(() => undefined);
}

async function isSocket(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isSocket(),
    () => false,
  );
}
