import type { ChildProcess } from 'node:child_process';
import type { ProcessRequest, SandboxLoss, SandboxSpec } from '../engine.ts';
import type { Owner } from '../files/open-folder.ts';
import type { InsideRoot } from './inside-paths.ts';
import type { HostCommand } from './local-process.ts';
import type { SessionFolder } from './session-folder.ts';
import type { TreeUse } from './tree-use.ts';

/** Walls of one sandbox, and the process that holds them. */
export interface Walls {
  /** The process that holds the sandbox. The sandbox ends with it. */
  readonly holder: ChildProcess;
  readonly roots: readonly InsideRoot[];
  /** The mark of its processes, where there are no namespaces. */
  readonly mark: string | undefined;
  /** True for a path that is the same inside and outside. */
  isShared(path: string): boolean;
  /** @throws RangeError for an unknown user. */
  toCommand(request: ProcessRequest): HostCommand;
  measure(): TreeUse;
  /** Kills one process, by the number that `measure` gave. */
  kill(pid: number): void;
  /** Kills all processes but the holder. */
  killAll(): void;
  /** Ends the holder, and with it all processes. */
  end(): void;
  /** A program on the network of the sandbox, outside of its file system. Undefined if it has no network of its own. */
  onNetwork(command: readonly string[]): HostCommand | undefined;
  toLoss(exitCode: number | null, signal: NodeJS.Signals | null): SandboxLoss;
}

/** The part in which the engines of this machine differ. */
export interface WallBuilder {
  readonly name: 'bubblewrap' | 'none';
  /** User who owns the files and runs the programs. Undefined: the user of this process. */
  readonly owner: Owner | undefined;
  /** Why it does not work here, and the way out; undefined if it works. */
  problem(signal: AbortSignal): Promise<string | undefined>;
  version(signal: AbortSignal): Promise<string>;
  readonly warnings: readonly string[];
  readonly notEnforced: Readonly<Record<string, string>>;
  /** Lets the user of the sandbox use a socket. */
  give(path: string): Promise<void>;
  build(spec: SandboxSpec, folder: SessionFolder, signal: AbortSignal): Promise<Walls>;
}
