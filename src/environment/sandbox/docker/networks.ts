import { createHash, randomInt } from 'node:crypto';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { z } from 'zod';
import { type EgressProxy, EngineError, type SandboxSpec } from '../engine.ts';
import type { DockerApi } from './api.ts';
import { NETWORK_LABEL, toLabels } from './labels.ts';
import { isStatus } from './refusal.ts';

/** The network of one sandbox. */
export interface JoinedNetwork {
  /** Name of the network; `none` has no addresses. */
  readonly name: string;
  /** Address of this machine in it. */
  readonly gateway: string | undefined;
  /** Lets go of it: the last sandbox removes it. */
  leave(signal: AbortSignal): Promise<void>;
}

const networkSchema = z.object({
  Id: z.string(),
  IPAM: z.object({
    Config: z.array(z.object({ Gateway: z.string().optional() })).nullish(),
  }),
});
/** Ranges that are tried until one is free. */
const SUBNET_TRIES = 5;
const NONE: JoinedNetwork = { name: 'none', gateway: undefined, leave: async () => {} };

/**
 * The networks of an engine. Docker has addresses for 30 networks, so sandboxes share one, in which they do not reach each
 * other. Podman cannot keep them apart in one network: there each session has its own.
 */
export class Networks {
  readonly #api: DockerApi;
  readonly #users = new Map<string, number>();
  /** Makes and removes networks one after the other: a network that is removed is not joined meanwhile. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(api: DockerApi) {
    this.#api = api;
  }

  async join(spec: SandboxSpec, signal: AbortSignal): Promise<JoinedNetwork> {
    const { kind } = spec.network;
    if (kind === 'none') return NONE;
    const { kind: engine } = await this.#api.version(signal);
    const { owner, session } = spec.labels;
    const name = `proctor-${kind}-${shortHash(engine === 'podman' ? `${owner} ${session}` : owner)}`;
    const labels =
      engine === 'podman' ? toLabels(spec.labels) : toLabels({ ...spec.labels, session: '', run: undefined });
    return await this.#inLine(async () => {
      const gateway = await this.#made(name, kind === 'proxy', { ...labels, [NETWORK_LABEL]: kind }, signal);
      this.#users.set(name, (this.#users.get(name) ?? 0) + 1);
      return { name, gateway, leave: (leaving) => this.#leave(name, leaving) };
    });
  }

  /** Removes a network that no container uses. */
  async remove(name: string, signal: AbortSignal): Promise<void> {
    await this.#api.text({ method: 'DELETE', path: `/networks/${name}` }, signal).catch((error: unknown) => {
      if (!isStatus(error, 403, 404, 409, 500)) throw error; // In use, by another process as well.
    });
  }

  async #leave(name: string, signal: AbortSignal): Promise<void> {
    await this.#inLine(async () => {
      const users = (this.#users.get(name) ?? 1) - 1;
      if (users > 0) this.#users.set(name, users);
      else {
        this.#users.delete(name);
        await this.remove(name, signal);
      }
    });
  }

  async #made(name: string, isInternal: boolean, labels: Record<string, string>, signal: AbortSignal) {
    const found = await this.#find(name, signal);
    if (found !== undefined) return found;
    const { kind } = await this.#api.version(signal);
    for (let round = 1; ; round += 1) {
      const call = kind === 'podman' ? ofPodman(name, isInternal, labels) : ofDocker(name, isInternal, labels);
      try {
        await this.#api.text({ method: 'POST', ...call, fault: 'create' }, signal);
        break;
      } catch (error) {
        if (isStatus(error, 409)) break; // Another process was first.
        if (kind !== 'podman' || round === SUBNET_TRIES || !isStatus(error, 500)) throw error;
      }
    }
    const made = await this.#find(name, signal);
    if (made === undefined) throw new EngineError('create', `The network ${name} was made, and is gone again`);
    return made;
  }

  /** The gateway of a network. */
  async #find(name: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const { IPAM } = await this.#api.json({ method: 'GET', path: `/networks/${name}` }, networkSchema, signal);
      const { Gateway = '' } = IPAM.Config?.[0] ?? {};
      return isIP(Gateway) > 0 ? Gateway : '';
    } catch (error) {
      if (isStatus(error, 404)) return undefined;
      throw error;
    }
  }

  #inLine<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#line.then(work, work);
    this.#line = next.catch(() => {});
    return next;
  }
}

function ofDocker(Name: string, Internal: boolean, Labels: Record<string, string>) {
  const Options = { 'com.docker.network.bridge.enable_icc': 'false' };
  return {
    path: '/networks/create',
    body: { Name, CheckDuplicate: true, Driver: 'bridge', Internal, Labels, Options },
  };
}

/** An internal network of Podman has an address of this machine only if it is named, so a range is chosen at random. */
function ofPodman(name: string, internal: boolean, labels: Record<string, string>) {
  const range = `10.${randomInt(100, 200)}.${randomInt(256)}`;
  const subnets = [{ subnet: `${range}.0/24`, gateway: `${range}.1` }];
  const options = { isolate: 'true' };
  const body = { name, driver: 'bridge', internal, dns_enabled: false, labels, options, subnets };
  return { path: '/libpod/networks/create', body };
}

/** Variables that lead programs to the proxy, which listens at the gateway of the sandbox's network. */
export async function openProxy(proxy: EgressProxy, network: JoinedNetwork): Promise<Record<string, string>> {
  const host = localGateway(network, 'An allow list of the network');
  const { port } = await proxy.listen({ host });
  const { name, password } = proxy.credential;
  const url = `http://${encodeURIComponent(name)}:${encodeURIComponent(password)}@${host}:${port}`;
  const own = 'localhost,127.0.0.1,::1';
  return {
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    NO_PROXY: own,
    http_proxy: url,
    https_proxy: url,
    no_proxy: own,
    NODE_USE_ENV_PROXY: '1',
  };
}

/** The gateway, if it is an address of this machine. @throws EngineError for engines elsewhere and in virtual machines. */
export function localGateway({ gateway, name }: JoinedNetwork, what: string): string {
  const own = Object.values(networkInterfaces()).flatMap((list) => list?.map(({ address }) => address) ?? []);
  if (gateway !== undefined && own.includes(gateway)) return gateway;
  const message = `${what} needs an engine whose networks are on this machine, and ${gateway || name} is no address of it`;
  throw new EngineError('refused', `${message}: Docker Desktop, rootless Podman and remote engines have none`);
}

export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
