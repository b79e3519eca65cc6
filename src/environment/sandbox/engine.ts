import type { Readable, Writable } from 'node:stream';

/** Names of the engines. `docker` speaks to Docker and to Podman. */
export const ENGINE_NAMES = ['bubblewrap', 'docker', 'kubernetes', 'none'] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];

/** Names of the limits of a sandbox, as authors write them. */
export const LIMIT_NAMES = ['memory', 'cpus', 'processes', 'disk'] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

/** The image of a sandbox: one that a registry or the engine has, or a folder with a Dockerfile. */
export type ImageSource =
  | string
  | { readonly build: string; readonly dockerfile?: string; readonly args?: Readonly<Record<string, string>> };

/** Limits of all processes of a sandbox together. A limit that is undefined is not set. */
export interface SandboxLimits {
  readonly memoryBytes: number | undefined;
  /** Processors, in parts from 0.01 on. */
  readonly cpus: number | undefined;
  readonly processes: number | undefined;
  readonly diskBytes: number | undefined;
}

/** Network of a sandbox as an engine makes it. The harness runs the proxy of an allow list. */
export type SandboxNetwork =
  | { readonly kind: 'none' }
  | { readonly kind: 'open' }
  /** The sandbox reaches this proxy and nothing else. */
  | { readonly kind: 'proxy'; readonly proxy: EgressProxy };

/** The proxy of a sandbox with an allow list. It listens where the engine asks it to. */
export interface EgressProxy {
  /** Name and password, which the sandbox gets in its proxy variables. They are of this sandbox alone. */
  readonly credential: { readonly name: string; readonly password: string };
  /** Opens the proxy at an address of this machine, or at a Unix socket. Opening an address again gives the same port. */
  listen(at: { readonly host: string } | { readonly socketPath: string }): Promise<{ readonly port: number }>;
}

/** Labels that tell whose a sandbox is. Engines keep them, so that what a dead process left can be found and removed. */
export interface SandboxLabels {
  /** The id of the database. Sandboxes of another database are never touched. */
  readonly owner: string;
  /** The process that holds the sandbox: its id and the time of its start. */
  readonly holder: string;
  readonly run: string | undefined;
  readonly session: string;
  readonly environment: string;
}

/** All that an engine needs to make a sandbox. Defaults are filled in. */
export interface SandboxSpec {
  /** An image that `prepare` gave, a frozen file system, or undefined for the programs of this machine. */
  readonly image: PreparedImage | FrozenFiles | undefined;
  /** The name under which other sandboxes of the session reach this one, and its host name. */
  readonly name: string;
  /** Absolute path of the folder where commands start. It is made if it does not exist. */
  readonly workdir: string;
  /** User of the agent's commands, a name or `uid[:gid]`. Undefined: the engine's unprivileged user, never root. */
  readonly user: string | undefined;
  /** The variables of every process. Nothing of this machine is added. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: SandboxLimits;
  readonly network: SandboxNetwork;
  readonly capabilities: 'default' | 'drop-all' | 'engine';
  /** Files and folders of this machine that the sandbox sees. Only the harness adds them. */
  readonly mounts: readonly SandboxMount[];
  /** Folders of this machine that stay covered where programs or mounts of the machine contain them. */
  readonly hidden?: readonly string[] | undefined;
  readonly labels: SandboxLabels;
  /** Milliseconds after which the sandbox ends by itself, even if nobody is left to end it. */
  readonly lifeMs: number;
}

export interface SandboxMount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

export interface PreparedImage {
  readonly kind: 'image';
  /** The name that the engine knows it by. */
  readonly reference: string;
  /** `sha256:…`; the tag of an image is no identity. */
  readonly digest: string;
  /** User of the image's own configuration; empty for root. */
  readonly user: string;
}

/** The file system of a sandbox at one moment. Whoever asked for it removes it. */
export interface FrozenFiles {
  readonly kind: 'frozen';
  readonly id: string;
  remove(): Promise<void>;
}

/** Resources of an engine, and the limits that it cannot enforce. */
export interface EngineFigures {
  /** `docker`, `podman`, `bubblewrap`, `kubernetes` or `none`: the word that traces show. */
  readonly kind: string;
  readonly version: string;
  /** Memory and processors that sandboxes may use in all. Admission counts against them. */
  readonly memoryBytes: number;
  readonly cpus: number;
  /** Why a limit cannot be enforced here, by its name. A limit that is not named is enforced. */
  readonly notEnforced: Partial<Readonly<Record<LimitName, string>>>;
  /** Things that an operator should know, such as services of this machine that a network reaches. */
  readonly warnings: readonly string[];
}

/** A sandbox that an engine holds, of this process or of another. */
export interface SandboxRecord {
  readonly id: string;
  readonly engine: string;
  readonly image: string | undefined;
  readonly labels: Partial<SandboxLabels>;
  readonly createdAt: Date;
  /** Memory in use; undefined if the engine does not tell. */
  readonly memoryBytes: number | undefined;
}

/**
 * Makes sandboxes. One engine serves all sandboxes of a process. Each wait takes a signal and has a limit of its own.
 * Failures of the engine itself are an `EngineError`.
 */
export interface Engine {
  readonly name: EngineName;
  /** True if a sandbox may have an image. */
  readonly takesImages: boolean;
  /** Asks the engine. @throws EngineError that says why it does not answer, and the way out. */
  check(signal: AbortSignal): Promise<EngineFigures>;
  /** Pulls or builds an image that is missing. @throws EngineError, TypeError if the engine takes no images. */
  prepare(image: ImageSource, signal: AbortSignal): Promise<PreparedImage>;
  create(spec: SandboxSpec, signal: AbortSignal): Promise<EngineSandbox>;
  /** Sandboxes of this database. */
  list(owner: string, signal: AbortSignal): Promise<readonly SandboxRecord[]>;
  /** Removes a sandbox and all that belongs to it. It does nothing if the sandbox is gone. */
  remove(id: string, signal: AbortSignal): Promise<void>;
  /** Lets go of connections. Sandboxes stay. */
  close(): Promise<void>;
}

/** One sandbox of an engine. Paths are absolute paths inside. */
export interface EngineSandbox {
  readonly id: string;
  /** Resolves if the sandbox ends although nobody stopped it. Never rejects. */
  readonly lost: Promise<SandboxLoss>;
  /**
   * Starts a program. An unknown program is an exit code (127, or 126 if it cannot be run), as in a shell.
   *
   * @throws EngineError; RangeError for an unknown user or folder, before anything runs.
   */
  start(request: ProcessRequest, signal: AbortSignal): Promise<SandboxProcess>;
  /** Number of processes that the kernel has ended because the sandbox ran out of memory, since its start. */
  memoryKills(signal: AbortSignal): Promise<number>;
  /** An entry, not following a link at its end; undefined if there is none. */
  stat(path: string, signal: AbortSignal): Promise<FileEntry | undefined>;
  /** The entries of a folder, one level. @throws RangeError if it is no folder or has more than `maxEntries`. */
  list(path: string, maxEntries: number, signal: AbortSignal): Promise<readonly FileEntry[]>;
  /** A file, or a folder with all that is in it, parents first. Links are given and never followed. */
  get(path: string, limits: CopyLimits, signal: AbortSignal): AsyncIterable<FileContent>;
  /** Writes entries below a folder, which is made if it does not exist. No link inside is followed. */
  put(entries: AsyncIterable<FileContent> | Iterable<FileContent>, folder: string, signal: AbortSignal): Promise<void>;
  /** Removes a file, or a folder with all that is in it. It does nothing if there is none. */
  remove(path: string, signal: AbortSignal): Promise<void>;
  /** Ends all processes but the one that holds the sandbox. Files can be read and written afterwards. */
  endProcesses(signal: AbortSignal): Promise<void>;
  /** The file system as it is, for another sandbox. Processes have been ended. */
  snapshot(signal: AbortSignal): Promise<FrozenFiles>;
  /** Paths that differ from the start, of the whole file system where the engine knows them, else of `workdir`. */
  changes(signal: AbortSignal): Promise<FileChanges>;
  /** Opens an address of this machine that leads to a port inside. @throws RangeError if the network is `none`. */
  expose(port: number, signal: AbortSignal): Promise<ExposedPort>;
  /** Ends the sandbox and removes all of it. Calling it again gives the same promise. */
  stop(): Promise<void>;
}

export interface ProcessRequest {
  readonly command: readonly string[];
  readonly cwd: string;
  /** The whole environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  /** A name or `uid[:gid]`. Undefined: the user of the sandbox. */
  readonly user: string | undefined;
  /** A terminal, whose output all comes on `stdout`. Undefined: pipes. */
  readonly pty: TerminalSize | undefined;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A program that runs in a sandbox. */
export interface SandboxProcess {
  /** Ending it closes the input of the program, whose output still arrives. */
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /**
   * Resolves when the program has ended, and after all that it wrote has been emitted by `stdout` and `stderr`. Children
   * that it left may go on and write. Rejects with `EngineError` if the sandbox or the engine was lost.
   */
  readonly exited: Promise<ProcessExit>;
  /** Sends a signal to the program's process group. Default `SIGKILL`. It does nothing after the end of the group. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Tells the program the new size of its terminal. It does nothing without one. */
  resize(columns: number, rows: number): Promise<void>;
}

export interface ProcessExit {
  /** Null if a signal ended it and the engine does not tell 128 plus its number. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

export type FileType = 'file' | 'folder' | 'link' | 'other';

export interface FileEntry {
  /** The name in `list`; the path relative to what was asked for in `get`, `.` for a folder itself. */
  readonly name: string;
  readonly type: FileType;
  /** Bytes of a file, else 0. */
  readonly size: number;
  /** Permission bits, such as `0o644`. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** An entry with its content. `content` is set for files, `target` for links. */
export interface FileContent {
  readonly name: string;
  readonly type: 'file' | 'folder' | 'link';
  readonly mode: number;
  /** Owner inside. Undefined: the user of the sandbox. */
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  readonly content?: Uint8Array | undefined;
  readonly target?: string | undefined;
}

/** Bounds of what is read from a sandbox. Going beyond one is a RangeError that names it. */
export interface CopyLimits {
  readonly maxBytes: number;
  readonly maxEntries: number;
  readonly maxDepth: number;
}

export interface FileChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export interface ExposedPort {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

/** The end of a sandbox that nobody stopped. */
export interface SandboxLoss {
  /** `agent`: a command inside ended it. `engine`: anything else. */
  readonly by: 'agent' | 'engine';
  /** Words that continue "The sandbox …", such as "was ended by its own command (exit code 137)". */
  readonly reason: string;
}

/** Kinds of failures of an engine. Each is an infrastructure error of a run. */
export type EngineFault =
  | 'unreachable'
  | 'refused'
  | 'image'
  | 'create'
  | 'lost'
  | 'disk'
  | 'timeout'
  /** The engine answered with something that Proctor does not understand. */
  | 'protocol';

/** An engine failed, not the agent: the run can be tried again. */
export class EngineError extends Error {
  override readonly name = 'EngineError';

  constructor(
    readonly fault: EngineFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
