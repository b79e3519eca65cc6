import { randomUUID } from 'node:crypto';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { type Loop, startLoop } from '../../../support/runtime/loop.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';
import { isThere, startOf } from '../../process/process-table.ts';
import { killMarked } from '../../process/run-mark.ts';
import {
  type Engine,
  EngineError,
  type EngineFigures,
  type EngineSandbox,
  type PreparedImage,
  type SandboxRecord,
  type SandboxSpec,
} from '../engine.ts';
import { usedBytes } from './disk-use.ts';
import { type Forwarder, forwarderCommand, startForwarder } from './forwarder.ts';
import { LocalSandbox } from './local-sandbox.ts';
import { readRecords, removeFolderOf, SessionFolder } from './session-folder.ts';
import type { WallBuilder, Walls } from './walls.ts';

/** Port of the proxy inside. */
const PROXY_PORT = 3_128;
/** The disk is measured in each tenth look, because a walk takes longer. */
const DISK_EVERY = 10;

/** An engine whose sandboxes are processes of this machine, and folders of it. */
export class LocalEngine implements Engine {
  readonly name: 'bubblewrap' | 'none';
  readonly takesImages = false;
  readonly #builder: WallBuilder;
  readonly #sandboxes = new Map<string, LocalSandbox>();
  #loop: Loop | undefined;
  #looks = 0;

  constructor(builder: WallBuilder) {
    this.#builder = builder;
    this.name = builder.name;
  }

  async check(signal: AbortSignal): Promise<EngineFigures> {
    const problem = await this.#builder.problem(signal);
    if (problem !== undefined) throw new EngineError('unreachable', problem);
    const { name, notEnforced, warnings } = this.#builder;
    const version = await this.#builder.version(signal);
    return { kind: name, version, memoryBytes: totalmem(), cpus: cpus().length, notEnforced, warnings };
  }

  async prepare(): Promise<PreparedImage> {
    throw new TypeError(`The engine ${this.name} takes no images: set PROCTOR_SANDBOX to docker, or leave image out`);
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<EngineSandbox> {
    signal.throwIfAborted();
    const { image } = spec;
    if (image?.kind === 'image') throw new TypeError(`The engine ${this.name} takes no images`);
    const folder = await SessionFolder.create(this.name, this.#builder.owner, image?.id);
    const made: { walls?: Walls; forwarder?: Forwarder } = {};
    try {
      made.walls = await this.#builder.build(spec, folder, signal);
      await this.#record(spec, folder, made.walls);
      const { variables, forwarder } = await this.#network(spec, folder, made.walls, signal);
      if (forwarder !== undefined) made.forwarder = forwarder;
      const onEnd = () => {
        forwarder?.close();
        this.#sandboxes.delete(folder.id);
        if (this.#sandboxes.size === 0) void this.#stopLoop();
      };
      const parts = { engine: this.name, owner: this.#builder.owner, spec, folder, walls: made.walls, onEnd };
      const sandbox = new LocalSandbox({ ...parts, variables: { ...spec.env, ...variables } });
      this.#sandboxes.set(folder.id, sandbox);
      this.#loop ??= this.#startLoop();
      await sandbox.begin(signal);
      return sandbox;
    } catch (error) {
      made.walls?.end();
      made.forwarder?.close();
      await folder.remove();
      throw error;
    }
  }

  async list(owner: string): Promise<readonly SandboxRecord[]> {
    const records = await readRecords(this.name, this.#builder.owner);
    return records
      .filter(({ labels }) => labels.owner === owner)
      .map(({ id, engine, labels, createdAt }) => ({
        id,
        engine,
        labels,
        image: undefined,
        createdAt: new Date(createdAt),
        memoryBytes: this.#sandboxes.get(id)?.memoryBytes,
      }));
  }

  async remove(id: string): Promise<void> {
    const record = (await readRecords(this.name, this.#builder.owner)).find((each) => each.id === id);
    if (record !== undefined && isThere(record.pid, record.startedAt)) process.kill(record.pid, 'SIGKILL');
    if (record?.mark !== undefined) killMarked(record.mark);
    await removeFolderOf(this.name, id);
  }

  async close(): Promise<void> {
    await this.#stopLoop();
  }

  async #record(spec: SandboxSpec, folder: SessionFolder, { holder, mark }: Walls): Promise<void> {
    const pid = holder.pid ?? 0;
    const createdAt = new Date().toISOString();
    const process = { pid, startedAt: startOf(pid) ?? '', mark };
    await folder.record({ id: folder.id, engine: this.name, labels: spec.labels, createdAt, ...process });
  }

  /** Leads the port of the proxy inside to the proxy outside. */
  async #network(spec: SandboxSpec, folder: SessionFolder, walls: Walls, signal: AbortSignal) {
    if (spec.network.kind !== 'proxy') return { variables: {}, forwarder: undefined };
    const { proxy } = spec.network;
    const socketPath = join(folder.part('run'), `${randomUUID().slice(0, 8)}.sock`);
    const command = walls.onNetwork(forwarderCommand(PROXY_PORT, socketPath));
    if (command === undefined) {
      const { port } = await proxy.listen({ host: '127.0.0.1' });
      return { variables: toProxyVariables(proxy.credential, port), forwarder: undefined };
    }
    await proxy.listen({ socketPath });
    await this.#builder.give(socketPath);
    const forwarder = await startForwarder(command, signal);
    return { variables: toProxyVariables(proxy.credential, PROXY_PORT), forwarder };
  }

  #startLoop(): Loop {
    return startLoop({
      look: async () => {
        this.#looks += 1;
        const all = [...this.#sandboxes.values()];
        for (const sandbox of all) sandbox.enforce();
        if (this.#looks % DISK_EVERY === 0) for (const sandbox of all) await sandbox.enforceDisk(usedBytes);
      },
      restMs: PERIODS_MS.sandboxUse,
      onError: (error) => process.emitWarning(`The use of a sandbox could not be measured: ${String(error)}`),
    });
  }

  async #stopLoop(): Promise<void> {
    const loop = this.#loop;
    this.#loop = undefined;
    await loop?.stop();
  }
}

function toProxyVariables(
  { name, password }: { readonly name: string; readonly password: string },
  port: number,
): Readonly<Record<string, string>> {
  const url = `http://${encodeURIComponent(name)}:${encodeURIComponent(password)}@127.0.0.1:${port}`;
  const lower = { http_proxy: url, https_proxy: url, all_proxy: url, no_proxy: 'localhost,127.0.0.1,::1' };
  const upper = Object.fromEntries(Object.entries(lower).map(([key, value]) => [key.toUpperCase(), value]));
  return { ...lower, ...upper };
}
