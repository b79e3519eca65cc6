import { join } from 'node:path';
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
import { getPlace, listPlace, putPlace, removePlace, statPlace } from '../files/folder-files.ts';
import { compareManifests, type Manifest, readManifest } from '../files/manifest.ts';
import type { Owner } from '../files/open-folder.ts';
import { expose } from './expose.ts';
import { isFolderInside, toPlace } from './inside-paths.ts';
import { startWithPipes, startWithTerminal } from './local-process.ts';
import { removeTree, type SessionFolder } from './session-folder.ts';
import type { Walls } from './walls.ts';

/** Parts of a sandbox of this machine. */
export interface LocalParts {
  readonly engine: string;
  readonly owner: Owner | undefined;
  readonly spec: SandboxSpec;
  readonly folder: SessionFolder;
  readonly walls: Walls;
  readonly variables: Readonly<Record<string, string>>;
  /** Called once, when the sandbox has ended. */
  onEnd(): void;
}

/** A sandbox whose files lie in a folder of this machine. */
export class LocalSandbox implements EngineSandbox {
  readonly id: string;
  readonly lost: Promise<SandboxLoss>;
  readonly #parts: LocalParts;
  readonly #holderEnded: Promise<void>;
  readonly #exposed = new Set<ExposedPort>();
  #start: Manifest = new Map();
  #memoryKills = 0;
  #hasEnded = false;
  #isEnding = false;
  #stopping: Promise<void> | undefined;

  constructor(parts: LocalParts) {
    this.#parts = parts;
    this.id = parts.folder.id;
    const { holder } = parts.walls;
    const ended = new Promise<readonly [number | null, NodeJS.Signals | null]>((resolve) => {
      if (holder.exitCode !== null || holder.signalCode !== null) resolve([holder.exitCode, holder.signalCode]);
      else holder.once('exit', (code, signal) => resolve([code, signal]));
    });
    this.#holderEnded = ended.then(() => {
      this.#hasEnded = true;
      parts.walls.killAll();
      parts.onEnd();
    });
    this.lost = new Promise((resolve) => {
      void ended.then(([code, signal]) => {
        if (!this.#isEnding) resolve(parts.walls.toLoss(code, signal));
      });
    });
  }

  /** Notes the files of the start, for `changes`. */
  async begin(signal: AbortSignal): Promise<void> {
    this.#start = await this.#manifest(signal);
  }

  async start(request: ProcessRequest, signal: AbortSignal): Promise<SandboxProcess> {
    signal.throwIfAborted();
    if (this.#hasEnded || this.#isEnding) throw new EngineError('lost', 'The processes of the sandbox have been ended');
    const { walls, variables } = this.#parts;
    const command = walls.toCommand({ ...request, env: { ...variables, ...request.env } });
    if (!isFolder(request.cwd, walls)) {
      throw new RangeError(`${JSON.stringify(request.cwd)} is no folder in the sandbox: make it first`);
    }
    return request.pty === undefined ? await startWithPipes(command) : await startWithTerminal(command, request.pty);
  }

  async memoryKills(): Promise<number> {
    return this.#memoryKills;
  }

  /** Kills the largest process while all together use more memory than they may, or all if there are too many. */
  enforce(): void {
    const { memoryBytes } = this.#parts.spec.limits;
    if (this.#hasEnded || memoryBytes === undefined) return;
    const use = this.#parts.walls.measure();
    if (use.memoryBytes <= memoryBytes) return;
    const [largest] = [...use.processes].sort((one, other) => other.bytes - one.bytes);
    if (largest === undefined) return;
    this.#memoryKills += 1;
    this.#parts.walls.kill(largest.pid);
  }

  /** Kills all processes if their files have more bytes than they may. */
  async enforceDisk(usedBytes: (paths: readonly string[], most: number) => Promise<number>): Promise<void> {
    const { diskBytes } = this.#parts.spec.limits;
    if (this.#hasEnded || diskBytes === undefined) return;
    if (
      (await usedBytes(
        this.#parts.walls.roots.map(({ host }) => host),
        diskBytes,
      )) > diskBytes
    ) {
      this.#parts.walls.killAll();
    }
  }

  get memoryBytes(): number {
    return this.#parts.walls.measure().memoryBytes;
  }

  async stat(path: string): Promise<FileEntry | undefined> {
    return await statPlace(this.#place(path));
  }

  async list(path: string, maxEntries: number): Promise<readonly FileEntry[]> {
    return await listPlace(this.#place(path), maxEntries);
  }

  async *get(path: string, limits: CopyLimits, signal: AbortSignal): AsyncIterable<FileContent> {
    yield* getPlace(this.#place(path), limits, signal);
  }

  async put(
    entries: AsyncIterable<FileContent> | Iterable<FileContent>,
    folder: string,
    signal: AbortSignal,
  ): Promise<void> {
    await putPlace(entries, this.#place(folder), this.#parts.owner, signal);
  }

  async remove(path: string): Promise<void> {
    const place = this.#place(path);
    if (place.names.length === 0) throw new RangeError(`${JSON.stringify(path)} is mounted, and cannot be removed`);
    await removePlace(place);
  }

  async endProcesses(): Promise<void> {
    this.#isEnding = true;
    if (!this.#hasEnded) this.#parts.walls.end();
    for (const port of this.#exposed) await port.close();
    await this.#holderEnded;
  }

  async snapshot(signal: AbortSignal): Promise<FrozenFiles> {
    signal.throwIfAborted();
    const path = await this.#parts.folder.freeze(this.#parts.engine);
    return { kind: 'frozen', id: path, remove: async () => await removeTree(path) };
  }

  async changes(signal: AbortSignal): Promise<FileChanges> {
    return compareManifests(this.#start, await this.#manifest(signal), this.#parts.spec.workdir);
  }

  async expose(port: number, signal: AbortSignal): Promise<ExposedPort> {
    const { spec, walls, folder } = this.#parts;
    if (spec.network.kind === 'none') {
      const message = `The network of the sandbox is "none", so that port ${port} cannot be exposed`;
      throw new RangeError(`${message}: set network to { allow: [] }, which reaches nothing either`);
    }
    const opened = await expose(port, walls, join(folder.part('run'), `${port}.sock`), signal);
    this.#exposed.add(opened);
    return opened;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.endProcesses().then(() => this.#parts.folder.remove());
    return this.#stopping;
  }

  async #manifest(signal: AbortSignal): Promise<Manifest> {
    return await readManifest(this.#parts.folder.part('work'), this.#parts.spec.workdir, signal);
  }

  #place(path: string) {
    return toPlace(path, this.#parts.walls.roots);
  }
}

function isFolder(path: string, walls: Walls): boolean {
  try {
    return isFolderInside(path, walls.roots, walls.isShared);
  } catch {
    return false; // A folder that its owner may not enter.
  }
}
