import { z } from 'zod';
import { sleep } from '../../../support/runtime/backoff.ts';
import { once, type Part } from '../../../support/runtime/once.ts';
import {
  type CopyLimits,
  EngineError,
  type EngineSandbox,
  type ExposedPort,
  type FileChanges,
  type FileContent,
  type FileEntry,
  type FrozenFiles,
  type ProcessRequest,
  type SandboxLoss,
  type SandboxProcess,
  type SandboxSpec,
} from '../engine.ts';
import { type DockerApi, WORK_LIMIT_MS } from './api.ts';
import { getFiles, listFolder, statEntry, statPath } from './container-files.ts';
import { type Container, type FileOwner, runScript, startProgram } from './exec.ts';
import { containerState, explainLoss, untilNotRunning } from './losses.ts';
import { type JoinedNetwork, localGateway, openProxy } from './networks.ts';
import type { DockerProcess } from './process.ts';
import { putFiles, sendArchive } from './put-files.ts';
import { isStatus } from './refusal.ts';
import type { SandboxUser } from './users.ts';
import { COUNT_MEMORY_KILLS, REMOVE_PATH } from './wrapper.ts';

/** A call that fails while the harness waits for the end of a container is tried again after this time. */
const WATCH_AGAIN_MS = 1_000;
/** An engine that is away for longer has lost its sandboxes. */
const AWAY_LIMIT_MS = 60_000;
const KINDS = ['changed', 'added', 'removed'] as const;

const addressSchema = z.object({
  NetworkSettings: z.object({ Networks: z.record(z.string(), z.object({ IPAddress: z.string() })).nullish() }),
});
const changesSchema = z.array(z.object({ Path: z.string(), Kind: z.number().min(0).max(2) })).nullable();

export interface OpenSandbox {
  readonly api: DockerApi;
  readonly id: string;
  readonly spec: SandboxSpec;
  readonly user: SandboxUser;
  readonly network: JoinedNetwork;
  freeze(signal: AbortSignal): Promise<FrozenFiles>;
}

/** A container of Docker or Podman. */
export class DockerSandbox implements EngineSandbox, Container {
  readonly id: string;
  readonly api: DockerApi;
  readonly user: string;
  readonly owner: FileOwner;
  readonly rootMayKill: boolean;
  readonly lost: Promise<SandboxLoss>;
  readonly processes = new Set<DockerProcess>();
  readonly #open: OpenSandbox;
  readonly #over = new AbortController();
  #onLost: (loss: SandboxLoss) => void = () => {};
  #loss: SandboxLoss | undefined;
  /** True from the moment at which the harness ends the processes, until they run again. */
  #isEnding = false;
  #memoryKills = 0;
  #proxy: Part<Record<string, string>>;
  #stopping: Promise<void> | undefined;
  #restarting: Promise<void> | undefined;

  constructor(open: OpenSandbox) {
    const { api, id, spec, user } = open;
    this.#open = open;
    this.id = id;
    this.api = api;
    this.owner = { uid: user.uid, gid: user.gid };
    this.user = `${user.uid}:${user.gid}`;
    this.rootMayKill = spec.capabilities === 'engine';
    this.lost = new Promise((resolve) => {
      this.#onLost = resolve;
    });
    const { network } = spec;
    this.#proxy = once(async () => (network.kind === 'proxy' ? await openProxy(network.proxy, open.network) : {}));
  }

  get isEnding(): boolean {
    return this.#isEnding || this.#stopping !== undefined;
  }

  /** Starts the container and makes its folder. */
  async begin(signal: AbortSignal): Promise<void> {
    const { spec } = this.#open;
    const found = await statPath(this, spec.workdir, signal);
    if (found !== undefined && found.type !== 'folder') {
      throw new RangeError(`The folder of the sandbox, ${spec.workdir}, is a ${found.type} in the image`);
    }
    const { uid, gid } = this.#open.user;
    const folder = { name: spec.workdir.slice(1), type: 'folder', mode: found?.mode ?? 0o755, uid, gid } as const;
    if (spec.workdir !== '/') await sendArchive(this, [folder], signal);
    await this.#start(signal);
    await this.#proxy.get();
  }

  async start(request: ProcessRequest, signal: AbortSignal): Promise<SandboxProcess> {
    await this.#running(signal);
    const home = this.#open.user.home ?? this.#open.spec.workdir;
    const own = request.user === undefined && !('HOME' in this.#open.spec.env) ? { HOME: home } : {};
    const env = { ...own, ...(await this.#proxy.get()), ...request.env };
    return await startProgram(this, { ...request, env }, signal);
  }

  async memoryKills(signal: AbortSignal): Promise<number> {
    if (this.isEnding || this.#loss !== undefined) return this.#memoryKills;
    const { exitCode, stdout } = await runScript(this, { script: COUNT_MEMORY_KILLS, args: [], user: '0' }, signal);
    if (exitCode !== 0) throw new EngineError('protocol', 'The sandbox cannot read how often its memory ran out');
    this.#memoryKills = Number(stdout.toString('latin1').trim());
    return this.#memoryKills;
  }

  async stat(path: string, signal: AbortSignal): Promise<FileEntry | undefined> {
    return await statEntry(this, path, signal);
  }

  async list(path: string, maxEntries: number, signal: AbortSignal): Promise<readonly FileEntry[]> {
    return await listFolder(this, path, maxEntries, signal);
  }

  get(path: string, limits: CopyLimits, signal: AbortSignal): AsyncIterable<FileContent> {
    return getFiles(this, path, limits, signal);
  }

  async put(
    entries: AsyncIterable<FileContent> | Iterable<FileContent>,
    folder: string,
    signal: AbortSignal,
  ): Promise<void> {
    await putFiles(this, entries, folder, signal);
  }

  async remove(path: string, signal: AbortSignal): Promise<void> {
    const wasEnded = this.#isEnding;
    await this.#running(signal);
    const { exitCode, stderr } = await runScript(this, { script: REMOVE_PATH, args: [path], user: '0' }, signal);
    if (wasEnded) await this.endProcesses(signal);
    if (exitCode === 0) return;
    const reason = exitCode === 127 ? 'the image has no program rm' : stderr.trim();
    throw new RangeError(`${path} cannot be removed from the sandbox: ${reason}`);
  }

  async endProcesses(signal: AbortSignal): Promise<void> {
    if (this.isEnding) return;
    await this.memoryKills(signal).catch(() => {});
    this.#isEnding = true;
    await this.#kill(signal);
    for (const process of this.processes) process.disconnect();
  }

  async endAll(): Promise<void> {
    const signal = AbortSignal.timeout(WORK_LIMIT_MS);
    await this.endProcesses(signal);
    await this.#running(signal);
  }

  async snapshot(signal: AbortSignal): Promise<FrozenFiles> {
    return await this.#open.freeze(signal);
  }

  async changes(signal: AbortSignal): Promise<FileChanges> {
    const call = { method: 'GET', path: `/containers/${this.id}/changes`, limitMs: WORK_LIMIT_MS } as const;
    const found = { added: [] as string[], changed: [] as string[], removed: [] as string[] };
    for (const { Path, Kind } of (await this.api.json(call, changesSchema, signal)) ?? []) {
      found[KINDS[Kind] ?? 'changed'].push(Path);
    }
    return { added: found.added.sort(), changed: found.changed.sort(), removed: found.removed.sort() };
  }

  async expose(port: number, signal: AbortSignal): Promise<ExposedPort> {
    const { network } = this.#open;
    if (network.name === 'none') {
      const message = `Port ${port} cannot be reached: the network of the sandbox is "none"`;
      throw new RangeError(`${message}; give it { allow: [] }, a closed network that the harness alone reaches`);
    }
    localGateway(network, 'A port of a sandbox');
    const call = { method: 'GET', path: `/containers/${this.id}/json` } as const;
    const { NetworkSettings } = await this.api.json(call, addressSchema, signal);
    const address = NetworkSettings.Networks?.[network.name]?.IPAddress;
    if (address) return { host: address, port, close: async () => {} };
    throw (await this.whyGone()) ?? new EngineError('protocol', `The sandbox has no address in ${network.name}`);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async whyGone(): Promise<EngineError | undefined> {
    if (this.#stopping !== undefined) return new EngineError('lost', 'The sandbox was stopped');
    const state = await containerState(this.api, this.id, AbortSignal.timeout(WORK_LIMIT_MS));
    if (state?.Running === true) return undefined;
    if (this.#isEnding) return new EngineError('lost', 'The processes of the sandbox were ended');
    this.#loss ??= await this.#explain(false);
    this.#lose(this.#loss);
    return new EngineError('lost', `The sandbox ${this.#loss.reason}`);
  }

  async #explain(wasAway: boolean): Promise<SandboxLoss> {
    const { lifeMs } = this.#open.spec;
    return await explainLoss(this.api, this.id, { lifeMs, wasAway }, AbortSignal.timeout(WORK_LIMIT_MS));
  }

  async #stop(): Promise<void> {
    this.#over.abort(new Error('The sandbox was stopped'));
    for (const process of this.processes) process.disconnect();
    const signal = AbortSignal.timeout(WORK_LIMIT_MS);
    await removeContainer(this.api, this.id, signal);
    await this.#open.network.leave(signal);
  }

  async #start(signal: AbortSignal): Promise<void> {
    const call = {
      method: 'POST',
      path: `/containers/${this.id}/start`,
      limitMs: WORK_LIMIT_MS,
      fault: 'create',
    } as const;
    await this.api.text(call, signal);
    this.#isEnding = false;
    void this.#watch();
  }

  /** Starts the container again after its processes were ended. */
  async #running(signal: AbortSignal): Promise<void> {
    if (this.#stopping !== undefined) throw new EngineError('lost', 'The sandbox was stopped');
    if (!this.#isEnding) return;
    this.#restarting ??= this.#start(signal).finally(() => {
      this.#restarting = undefined;
    });
    await this.#restarting;
  }

  async #kill(signal: AbortSignal): Promise<void> {
    const call = {
      method: 'POST',
      path: `/containers/${this.id}/kill`,
      query: { signal: 'KILL' },
      limitMs: WORK_LIMIT_MS,
    } as const;
    await this.api.text(call, signal).catch((error: unknown) => {
      if (!isStatus(error, 404, 409, 500)) throw error; // It does not run.
    });
    await untilNotRunning(this.api, this.id, AbortSignal.any([signal, AbortSignal.timeout(WORK_LIMIT_MS)]));
  }

  /** Waits for an end that is not ours. An engine that is away for a moment loses nothing. */
  async #watch(): Promise<void> {
    const { signal } = this.#over;
    let awaySince: number | undefined;
    let wasAway = false;
    while (!signal.aborted && !this.isEnding) {
      try {
        await untilNotRunning(this.api, this.id, signal);
        if (signal.aborted || this.isEnding) return;
        const state = await containerState(this.api, this.id, signal);
        if (state?.Running === true) {
          awaySince = undefined;
          await sleep(WATCH_AGAIN_MS, signal);
          continue;
        }
        this.#lose(await this.#explain(wasAway));
        return;
      } catch (error) {
        if (signal.aborted || this.isEnding) return;
        wasAway = true;
        awaySince ??= performance.now();
        if (performance.now() - awaySince > AWAY_LIMIT_MS) {
          const reason = error instanceof Error ? error.message : String(error);
          this.#lose({ by: 'engine', reason: `cannot be reached: ${reason}` });
          return;
        }
        await sleep(WATCH_AGAIN_MS, signal).catch(() => {});
      }
    }
  }

  #lose(loss: SandboxLoss): void {
    this.#loss ??= loss;
    this.#onLost(this.#loss);
    for (const process of this.processes) process.disconnect();
  }
}

/** Removes a container with its volumes. It does nothing if there is none. */
export async function removeContainer(api: DockerApi, id: string, signal: AbortSignal): Promise<void> {
  const call = {
    method: 'DELETE',
    path: `/containers/${id}`,
    query: { force: 1, v: 1 },
    limitMs: WORK_LIMIT_MS,
  } as const;
  for (let round = 0; ; round += 1) {
    try {
      await api.text(call, signal);
      return;
    } catch (error) {
      if (isStatus(error, 404)) return;
      // Somebody else removes it as well, or the engine is still busy with its end.
      if (!isStatus(error, 409, 500) || round === 10) throw error;
      await sleep(200, signal);
    }
  }
}
