import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type {
  Engine,
  EngineFigures,
  EngineName,
  EngineSandbox,
  FileContent,
  FileEntry,
  PreparedImage,
  ProcessRequest,
  SandboxLoss,
  SandboxProcess,
  SandboxSpec,
} from '../../../src/environment/sandbox/engine.ts';
import { EngineError } from '../../../src/environment/sandbox/engine.ts';
import { SandboxEngines, type SandboxSettings } from '../../../src/environment/sandbox/open-engine.ts';

/**
 * An engine over folders of this machine, for tests of what stands above engines. Programs run without any confinement,
 * so only harmless ones may run. A test changes its fields to make it fail.
 */
export class FakeEngine implements Engine {
  readonly name: EngineName = 'docker';
  readonly takesImages = true;
  readonly opened: FakeSandbox[] = [];
  readonly prepared: string[] = [];
  /** The engine is away while this is above 0; each call takes one off. */
  awayCalls = 0;
  /** Thrown by `create`. */
  createError: Error | undefined;
  notEnforced: EngineFigures['notEnforced'] = {};
  isClosed = false;

  /** Sandboxes that nobody has stopped. */
  get live(): readonly FakeSandbox[] {
    return this.opened.filter(({ isStopped }) => !isStopped);
  }

  async check(): Promise<EngineFigures> {
    this.#answer();
    const { notEnforced } = this;
    return { kind: 'fake', version: '1.0', memoryBytes: 2 ** 33, cpus: 4, notEnforced, warnings: [] };
  }

  async prepare(image: unknown): Promise<PreparedImage> {
    this.#answer();
    this.prepared.push(String(image));
    return { kind: 'image', reference: String(image), digest: 'sha256:fake', user: '' };
  }

  async create(spec: SandboxSpec): Promise<EngineSandbox> {
    this.#answer();
    if (this.createError !== undefined) throw this.createError;
    const sandbox = new FakeSandbox(spec, await mkdtemp(join(tmpdir(), 'proctor-fake-')));
    await mkdir(sandbox.at(spec.workdir), { recursive: true });
    if (spec.image?.kind === 'frozen') await sandbox.put(await contentsOf(spec.image.id), '/');
    await sandbox.noteStart();
    this.opened.push(sandbox);
    return sandbox;
  }

  async list(): Promise<[]> {
    return [];
  }

  async remove(): Promise<void> {}

  async close(): Promise<void> {
    this.isClosed = true;
  }

  #answer(): void {
    if (this.awayCalls <= 0) return;
    this.awayCalls -= 1;
    throw new EngineError('unreachable', 'The fake engine does not answer.');
  }
}

/** Engines that are all this one. */
export function enginesOf(engine: Engine, settings: SandboxSettings = {}): SandboxEngines {
  return new SandboxEngines(settings, async () => engine);
}

export class FakeSandbox implements EngineSandbox {
  readonly id: string;
  readonly spec: SandboxSpec;
  readonly lost: Promise<SandboxLoss>;
  readonly root: string;
  isStopped = false;
  endedProcesses = 0;
  snapshots = 0;
  kills = 0;
  readonly #children = new Set<{ kill(): void }>();
  #lose: (loss: SandboxLoss) => void = () => {};
  #loss: SandboxLoss | undefined;
  #atStart: ReadonlyMap<string, string> = new Map();

  constructor(spec: SandboxSpec, root: string) {
    this.spec = spec;
    this.root = root;
    this.id = root;
    this.lost = new Promise((resolve) => {
      this.#lose = resolve;
    });
  }

  at(path: string): string {
    return join(this.root, path);
  }

  async noteStart(): Promise<void> {
    this.#atStart = await this.#texts();
  }

  /** Ends the sandbox as its agent, or the engine, would. */
  lose(loss: SandboxLoss): void {
    this.#loss = loss;
    for (const child of this.#children) child.kill();
    this.#lose(loss);
  }

  async start({ command: [program = '', ...args], cwd, env }: ProcessRequest): Promise<SandboxProcess> {
    this.#answer();
    const child = spawn(program, args, { cwd: this.at(cwd), env: { PATH: process.env.PATH, ...env }, detached: true });
    const kill = () => {
      try {
        process.kill(-Number(child.pid), 'SIGKILL');
      } catch {
        // It has ended.
      }
    };
    const entry = { kill };
    this.#children.add(entry);
    const exited = new Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
      child.once('error', () => resolve({ exitCode: 127, signal: null }));
      child.once('close', (exitCode, signal) => {
        this.#children.delete(entry);
        if (this.#loss === undefined) resolve({ exitCode, signal });
        else reject(this.#lostError());
      });
    });
    exited.catch(() => {});
    const { stdin, stdout, stderr } = child;
    return { stdin, stdout, stderr, exited, kill: async () => kill(), resize: async () => {} };
  }

  async memoryKills(): Promise<number> {
    return this.kills;
  }

  async stat(path: string): Promise<FileEntry | undefined> {
    this.#answer();
    return existsSync(this.at(path)) ? await entryOf(this.at(path), '.') : undefined;
  }

  async list(path: string): Promise<readonly FileEntry[]> {
    const names = await readdir(this.at(path));
    return await Promise.all(names.sort().map((name) => entryOf(join(this.at(path), name), name)));
  }

  async *get(path: string): AsyncGenerator<FileContent> {
    this.#answer();
    yield* await contentsOf(this.at(path));
  }

  async put(entries: AsyncIterable<FileContent> | Iterable<FileContent>, folder: string): Promise<void> {
    this.#answer();
    for await (const { name, type, mode, content = new Uint8Array() } of entries) {
      const path = join(this.at(folder), name);
      await mkdir(type === 'folder' ? path : dirname(path), { recursive: true });
      if (type === 'file') await writeFile(path, content, { mode });
    }
  }

  async remove(path: string): Promise<void> {
    await rm(this.at(path), { recursive: true, force: true });
  }

  async endProcesses(): Promise<void> {
    this.#answer();
    this.endedProcesses += 1;
    for (const child of this.#children) child.kill();
  }

  async snapshot() {
    this.snapshots += 1;
    const remove = async () => {
      this.snapshots -= 1;
    };
    return { kind: 'frozen' as const, id: this.root, remove };
  }

  async changes() {
    this.#answer();
    const [before, after] = [this.#atStart, await this.#texts()];
    return {
      added: [...after.keys()].filter((path) => !before.has(path)),
      changed: [...after].flatMap(([path, text]) => (before.has(path) && before.get(path) !== text ? [path] : [])),
      removed: [...before.keys()].filter((path) => !after.has(path)),
    };
  }

  async expose(port: number) {
    return { host: '127.0.0.1', port, close: async () => {} };
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    for (const child of this.#children) child.kill();
    await rm(this.root, { recursive: true, force: true });
  }

  #answer(): void {
    if (this.#loss !== undefined) throw this.#lostError();
  }

  #lostError(): EngineError {
    return new EngineError('lost', `The sandbox ${this.#loss?.reason}.`);
  }

  async #texts(): Promise<ReadonlyMap<string, string>> {
    const found = await contentsOf(this.root);
    return new Map(
      found.flatMap(({ name, content }) =>
        content === undefined ? [] : [[`/${name}`, Buffer.from(content).toString()]],
      ),
    );
  }
}

async function entryOf(path: string, name: string): Promise<FileEntry> {
  const { mode, size, uid, gid, ...stat } = await lstat(path).then((found) => ({
    mode: found.mode & 0o777,
    size: found.isFile() ? found.size : 0,
    uid: found.uid,
    gid: found.gid,
    isFolder: found.isDirectory(),
    isLink: found.isSymbolicLink(),
  }));
  return { name, type: stat.isFolder ? 'folder' : stat.isLink ? 'link' : 'file', size, mode, uid, gid };
}

async function contentsOf(path: string, below = ''): Promise<FileContent[]> {
  const { type, mode } = await entryOf(path, '');
  if (type === 'link') return [{ name: below || '.', type, mode, target: '/etc/passwd' }];
  if (type !== 'folder') return [{ name: below || '.', type: 'file', mode, content: await readFile(path) }];
  const names = (await readdir(path)).sort();
  const inside = await Promise.all(
    names.map((name) => contentsOf(join(path, name), below === '' ? name : `${below}/${name}`)),
  );
  return [{ name: below || '.', type: 'folder', mode }, ...inside.flat()];
}
