import type {
  ExposedPort,
  FileChanges,
  FileEntry,
  ImageSource,
  LimitName,
  SandboxProcess,
  TerminalSize,
} from './engine.ts';
import type { ExecResult } from './exec.ts';

/** Options of a sandbox, as an author writes them. */
export interface SandboxOptions {
  /** Name of an image, or a folder with a Dockerfile. Default: the programs of this machine, read-only. */
  readonly image?: ImageSource;
  /** The folder where commands start and relative paths lead. Default `/workspace`. */
  readonly workdir?: string;
  /** Files that are copied into `workdir`, by their paths: text, bytes, or a folder of this machine. */
  readonly files?: Readonly<Record<string, string | Uint8Array | { readonly folder: string }>>;
  /** User of the agent's commands, a name or `uid[:gid]`. Default: one without rights. */
  readonly user?: string;
  /** Variables of commands. None of this machine are passed. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default `none`. An allow list takes hosts, `*.` hosts and ranges, each with `:port` or for the ports 80 and 443. */
  readonly network?: 'none' | 'open' | { readonly allow: readonly string[] };
  /** Bytes, or text such as `512MiB` and `1GiB`. Default 1 GiB. */
  readonly memory?: number | string;
  /** Processors. Default 1. */
  readonly cpus?: number;
  /** Default 256. */
  readonly processes?: number;
  /** Bytes, or text such as `4GiB`. Default 4 GiB. */
  readonly disk?: number | string;
  /** `best-effort` starts even if the engine cannot enforce a limit that is named here. Default: that is an error. */
  readonly limits?: 'enforced' | 'best-effort';
  /** Default: those of the engine without `NET_RAW`, and no new privileges. */
  readonly capabilities?: 'default' | 'drop-all' | 'engine';
}

/** Options of a program that runs in a sandbox. */
export interface CommandOptions {
  /** Relative to `workdir`. Default `workdir`. */
  readonly cwd?: string;
  /** Added to the variables of the sandbox. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the user of the sandbox. */
  readonly user?: string;
  readonly signal?: AbortSignal;
}

export interface ExecOptions extends CommandOptions {
  readonly stdin?: string | Uint8Array;
  /** Milliseconds after which the process group is ended. Default 600,000. */
  readonly timeoutMs?: number;
  /** Bytes of standard output, and of standard error, that are kept. Default 1 MiB. */
  readonly maxOutputBytes?: number;
}

export interface SpawnOptions extends CommandOptions {
  /** A terminal of this size, `true` for 80 by 24. Its output all comes on `stdout`. Default: pipes. */
  readonly pty?: boolean | TerminalSize;
}

/** Where `copyIn` takes files from: a folder of this machine, or texts and bytes by their paths. */
export type CopySource = string | URL | Readonly<Record<string, string | Uint8Array>>;

/** The files of a sandbox. Relative paths lead to `workdir`. Links are never followed out of the sandbox. */
export interface SandboxFiles {
  /** @throws RangeError if there is no such file, or if it is larger than `maxBytes` (default 16 MiB). */
  read(path: string, options?: { readonly maxBytes?: number; readonly signal?: AbortSignal }): Promise<Uint8Array>;
  /** Writes a file and makes its folders. Default mode `0o644`; a file that exists keeps its mode. */
  write(
    path: string,
    content: string | Uint8Array,
    options?: { readonly mode?: number; readonly signal?: AbortSignal },
  ): Promise<void>;
  list(path?: string, options?: { readonly signal?: AbortSignal }): Promise<readonly FileEntry[]>;
  /** Undefined if there is no such entry. A link is told as a link. */
  stat(path: string, options?: { readonly signal?: AbortSignal }): Promise<FileEntry | undefined>;
  remove(path: string, options?: { readonly signal?: AbortSignal }): Promise<void>;
}

/**
 * A computer of a session: files, programs and a network of its own. It is there from setup to the end of the session.
 * Methods throw `EngineError` if the engine fails, and `Error` after `stop`, and outside of a session.
 */
export interface Sandbox {
  /** The name of the sandbox, `main` without one. */
  readonly name: string;
  readonly workdir: string;
  readonly files: SandboxFiles;
  /**
   * Runs a program to its end: a list, or a text by `sh -c`. A program that fails is a result, not an exception.
   *
   * @throws Error after `freeze`.
   */
  exec(command: string | readonly string[], options?: ExecOptions): Promise<ExecResult>;
  /** Starts a program. It ends with the sandbox, with `freeze`, and when the signal is aborted. */
  spawn(command: string | readonly string[], options?: SpawnOptions): Promise<SandboxProcess>;
  /** Copies a folder's content, or files, into a folder of the sandbox (default `workdir`). */
  copyIn(from: CopySource, to?: string, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Copies a file, or a folder's content, into a folder of this machine, which is made if it does not exist. */
  copyOut(from: string, to: string | URL, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * Makes a second sandbox, in which nothing of the agent runs. With `keep`, it is new and has these paths of the first;
   * a path that does not exist is left out. Without `keep`, it has the whole file system of the first.
   */
  fresh(options?: {
    readonly keep?: readonly string[];
    readonly image?: ImageSource;
    readonly signal?: AbortSignal;
  }): Promise<Sandbox>;
  /** Ends all processes and refuses new ones. Files can still be read. Calling it again does nothing. */
  freeze(): Promise<void>;
  readonly isFrozen: boolean;
  /** Paths below `workdir` that were added, changed and removed since setup began. */
  changes(): Promise<FileChanges>;
  /** An address at which this process reaches a port inside. @throws RangeError if the network is `none`. */
  expose(port: number): Promise<ExposedPort>;
  /**
   * Tells in words if the kernel has ended a process for its memory since the last question, such as `The sandbox ran out
   * of memory (limit 1024 MiB).` For programs of `spawn`; `exec` tells by itself.
   */
  memoryFault(): Promise<string | undefined>;
  /** Ends the sandbox. The end of the session does that as well. */
  stop(): Promise<void>;
  /** Limits that the engine does not enforce here, with the reasons. They stand in the trace. */
  readonly notEnforced: Partial<Readonly<Record<LimitName, string>>>;
}

export type { ExecResult, ExposedPort, FileChanges, FileEntry, SandboxProcess };
