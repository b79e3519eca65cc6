import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endsWithin } from '../../../support/runtime/deadline.ts';
import type {
  EngineSandbox,
  ExposedPort,
  FileChanges,
  FileContent,
  ImageSource,
  LimitName,
  SandboxLoss,
  SandboxProcess,
  TerminalSize,
} from '../engine.ts';
import { EXEC_TIMEOUT_MS, type ExecResult, hasNewMemoryKills, MAX_OUTPUT_BYTES, runExec } from '../exec.ts';
import type { CommandOptions, CopySource, Sandbox, SandboxFiles } from '../sandbox.ts';
import { isEngineError, whenEngineIsBack } from './engine-return.ts';
import type { InitialFiles } from './initial-files.ts';
import { COPY_LIMITS, readLocal, writeLocal } from './local-folder.ts';
import { SessionFiles } from './session-files.ts';

/** Milliseconds for the engine to say how a sandbox was lost. */
const LOSS_MS = 5_000;
const TERMINAL: TerminalSize = { columns: 80, rows: 24 };

export interface SessionSandboxParts {
  readonly name: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly sandbox: EngineSandbox;
  readonly initial: InitialFiles;
  readonly notEnforced: Partial<Readonly<Record<LimitName, string>>>;
  readonly memoryBytes: number | undefined;
  /** Aborted when the session ends. */
  readonly ended: AbortSignal;
  /** Makes a second sandbox for `fresh`. */
  fresh(from: SessionSandbox, options: FreshOptions): Promise<Sandbox>;
  /** Gets a sentence for the log. */
  warn(text: string): void;
  /** Called when the engine failed, or when the sandbox was lost. */
  onFault(fault: SandboxLoss): void;
}

export interface FreshOptions {
  readonly keep?: readonly string[];
  readonly image?: ImageSource;
  readonly signal?: AbortSignal;
}

/** A sandbox of a session, over the sandbox of an engine. */
export class SessionSandbox implements Sandbox {
  readonly name: string;
  readonly workdir: string;
  readonly files: SandboxFiles;
  readonly notEnforced: SessionSandboxParts['notEnforced'];
  readonly #parts: SessionSandboxParts;
  /** The engine's sandbox, whose starts are counted, and wait while the engine is away. */
  readonly #starter: EngineSandbox;
  /** Starts of programs that are under way. A freeze waits for them. */
  readonly #starting = new Set<Promise<unknown>>();
  #freezing: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(parts: SessionSandboxParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.workdir = parts.workdir;
    this.notEnforced = parts.notEnforced;
    this.#starter = this.#countStarts(parts.sandbox);
    const during: SessionSandbox['during'] = (signal, work) => this.during(signal, work);
    this.files = new SessionFiles(parts.sandbox, (path) => this.resolve(path), during);
    void parts.sandbox.lost.then((loss) => {
      if (this.#stopping === undefined) parts.onFault(loss);
    });
  }

  get isFrozen(): boolean {
    return this.#freezing !== undefined;
  }

  readonly exec: Sandbox['exec'] = async (command, options = {}) => {
    const { stdin, timeoutMs = EXEC_TIMEOUT_MS, maxOutputBytes = MAX_OUTPUT_BYTES } = options;
    checkCount('timeoutMs', timeoutMs, 1);
    checkCount('maxOutputBytes', maxOutputBytes, 0);
    const program = this.#toRequest(command, options);
    return await this.during(options.signal, async (signal): Promise<ExecResult> => {
      this.#refuseFrozen('exec');
      return await runExec(this.#starter, { ...program, stdin, timeoutMs, maxOutputBytes }, signal);
    });
  };

  readonly spawn: Sandbox['spawn'] = async (command, options = {}) => {
    const { pty } = options;
    const program = this.#toRequest(command, options);
    return await this.during(options.signal, async (signal): Promise<SandboxProcess> => {
      this.#refuseFrozen('spawn');
      const child = await this.#starter.start({ ...program, pty: pty === true ? TERMINAL : pty || undefined }, signal);
      const kill = () => void child.kill('SIGKILL').catch(() => {}); // The program's end tells of a lost engine.
      signal.addEventListener('abort', kill, { once: true });
      const stopListening = () => signal.removeEventListener('abort', kill);
      child.exited.then(stopListening, stopListening);
      return child;
    });
  };

  async copyIn(from: CopySource, to = '.', options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const folder = this.resolve(to);
    await this.during(options.signal, (signal) => putSource(this.#parts.sandbox, from, folder, signal));
  }

  async copyOut(from: string, to: string | URL, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const path = this.resolve(from);
    const folder = to instanceof URL ? fileURLToPath(to) : to;
    await this.during(options.signal, async (signal) => {
      if ((await this.#parts.sandbox.stat(path, signal)) === undefined) throw new RangeError(`There is no ${path}`);
      const entries = named(this.#parts.sandbox.get(path, COPY_LIMITS, signal), posix.basename(path));
      const leftOut = await writeLocal(entries, folder);
      const names = leftOut.slice(0, 5).join(', ');
      if (names !== '') this.#parts.warn(`copyOut left out links that lead out of the folder: ${names}`);
    });
  }

  async fresh(options: FreshOptions = {}): Promise<Sandbox> {
    const { keep, image } = options;
    if (keep !== undefined && !(Array.isArray(keep) && keep.every((path) => typeof path === 'string'))) {
      throw new TypeError('fresh: keep has to be a list of paths');
    }
    if (image !== undefined && keep === undefined) {
      throw new TypeError('fresh: an image needs keep, the list of paths that are copied; keep may be empty');
    }
    return await this.during(options.signal, (signal) => this.#parts.fresh(this, { ...options, signal }));
  }

  freeze(): Promise<void> {
    this.#freezing ??= this.during(undefined, async (signal) => {
      await Promise.allSettled(this.#starting);
      await this.#parts.sandbox.endProcesses(signal);
    });
    return this.#freezing;
  }

  changes(): Promise<FileChanges> {
    return this.during(undefined, async (signal) => {
      const { sandbox, initial } = this.#parts;
      return this.#below(await initial.compare(await sandbox.changes(signal), sandbox, signal));
    });
  }

  async expose(port: number): Promise<ExposedPort> {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new TypeError(`expose takes the number of a port, got ${port}`);
    }
    return await this.during(undefined, (signal) => this.#parts.sandbox.expose(port, signal));
  }

  memoryFault(): Promise<string | undefined> {
    return this.during(undefined, async (signal) => {
      const { memoryBytes } = this.#parts;
      if (!(await hasNewMemoryKills(this.#starter, signal))) return undefined;
      const limit = memoryBytes === undefined ? '' : ` (limit ${Math.round(memoryBytes / 1024 ** 2)} MiB)`;
      return `The sandbox ran out of memory${limit}.`;
    });
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#parts.sandbox.stop();
    return this.#stopping;
  }

  /** The engine's sandbox, for the holder of the session. */
  get engineSandbox(): EngineSandbox {
    return this.#parts.sandbox;
  }

  /** An absolute path inside. A relative one leads to `workdir`. */
  resolve(path: string): string {
    if (typeof path !== 'string' || path === '' || path.includes('\0')) {
      throw new TypeError(`A path of a sandbox is text without a NUL character, got ${JSON.stringify(path)}`);
    }
    return posix.resolve(this.workdir, path);
  }

  /**
   * Does work of this sandbox until the caller's signal is aborted, or the session ends. Failures of the engine are noted
   * for the harness.
   */
  async during<T>(own: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#stopping !== undefined) throw new Error(`The sandbox "${this.name}" was stopped`);
    const { ended } = this.#parts;
    const signal = own === undefined ? ended : AbortSignal.any([ended, own]);
    signal.throwIfAborted();
    try {
      return await work(signal);
    } catch (error) {
      if (isEngineError(error) && !signal.aborted) {
        // The engine knows a moment later whether the agent ended the sandbox.
        const { lost } = this.#parts.sandbox;
        const isKnown = error.fault === 'lost' && (await endsWithin(lost, LOSS_MS));
        this.#parts.onFault(isKnown ? await lost : { by: 'engine', reason: error.message });
      }
      throw error;
    }
  }

  #refuseFrozen(method: string): void {
    if (!this.isFrozen) return;
    throw new Error(
      `The sandbox "${this.name}" is frozen: ${method} is refused, and files can be read. fresh() gives a sandbox for programs of the evaluation`,
    );
  }

  #countStarts(sandbox: EngineSandbox): EngineSandbox {
    const start: EngineSandbox['start'] = (request, signal) => {
      const starting = whenEngineIsBack(() => {
        this.#refuseFrozen('a start');
        return sandbox.start(request, signal);
      }, signal);
      this.#starting.add(starting);
      const forget = () => void this.#starting.delete(starting);
      starting.then(forget, forget);
      return starting;
    };
    return new Proxy(sandbox, {
      get: (target, key) => {
        if (key === 'start') return start;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  #toRequest(command: string | readonly string[], { cwd, env, user }: CommandOptions) {
    const list = typeof command === 'string' ? ['sh', '-c', command] : command;
    if (!Array.isArray(list) || list.length === 0 || !list.every((part) => typeof part === 'string')) {
      throw new TypeError('A command is text for sh, or a list of a program and its arguments');
    }
    return {
      command: list as readonly string[],
      cwd: cwd === undefined ? this.workdir : this.resolve(cwd),
      env: { ...this.#parts.env, ...env },
      user,
      pty: undefined,
    };
  }

  /** Only paths below `workdir`, relative to it. */
  #below({ added, changed, removed }: FileChanges): FileChanges {
    const root = this.workdir === '/' ? '/' : `${this.workdir}/`;
    const toRelative = (paths: readonly string[]) =>
      paths.flatMap((path) => {
        if (!path.startsWith('/')) return [path];
        return path.startsWith(root) ? [path.slice(root.length)] : [];
      });
    return { added: toRelative(added), changed: toRelative(changed), removed: toRelative(removed) };
  }
}

/** Copies a folder of this machine, or texts and bytes by their paths, into a folder of a sandbox. */
export async function putSource(
  sandbox: EngineSandbox,
  from: CopySource,
  folder: string,
  signal: AbortSignal,
  initial?: InitialFiles,
): Promise<void> {
  const put = (entries: AsyncIterable<FileContent> | Iterable<FileContent>, into: string) =>
    sandbox.put(initial === undefined ? entries : initial.note(entries, into), into, signal);
  if (typeof from === 'string' || from instanceof URL) {
    return await put(readLocal(from instanceof URL ? fileURLToPath(from) : from), folder);
  }
  // One call for each folder, because an engine makes the folder that it writes into.
  const byFolder = new Map<string, FileContent[]>();
  for (const [path, content] of Object.entries(from)) {
    const target = posix.resolve(folder, path);
    if (target === folder || !target.startsWith(folder === '/' ? '/' : `${folder}/`)) {
      throw new RangeError(`The path ${JSON.stringify(path)} leads out of the folder that is copied into`);
    }
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    const entry: FileContent = { name: posix.basename(target), type: 'file', mode: 0o644, content: bytes };
    byFolder.set(posix.dirname(target), [...(byFolder.get(posix.dirname(target)) ?? []), entry]);
  }
  for (const [into, entries] of byFolder) await put(entries, into);
}

/** Gives a single file its name: an engine names what was asked for `.`. */
async function* named(entries: AsyncIterable<FileContent>, name: string): AsyncGenerator<FileContent> {
  for await (const entry of entries) yield entry.name === '.' && entry.type !== 'folder' ? { ...entry, name } : entry;
}

function checkCount(option: string, value: number, least: number): void {
  if (Number.isFinite(value) && value >= least) return;
  throw new TypeError(`${option} has to be a number from ${least} on, got ${value}`);
}
