import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { messageOf } from '../contract/errors.ts';
import { PROCESS_VARIABLES } from '../contract/names.ts';
import type { LogRecord } from '../contract/trace.ts';
import { Confinement } from '../process/confinement.ts';
import { signalGroup } from '../process/process-group.ts';
import { OutputLog } from './output-log.ts';

export interface AgentProcessOptions {
  /** The program, an absolute path or a name on the `PATH`, and its arguments. */
  readonly command: readonly string[];
  /** The whole environment of the process. */
  readonly variables: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** False: its standard input is closed. */
  readonly hasInput: boolean;
  readonly onLog: (record: Omit<LogRecord, 'at'>) => void;
  /** Takes its standard output too. */
  readonly onOutput?: ((chunk: Buffer) => void) | undefined;
  /** Milliseconds between SIGTERM and SIGKILL. Default 2,000. */
  readonly graceMs?: number | undefined;
}

export interface AgentExit {
  /** Null where a signal ended it, or it was not started. */
  readonly code: number | null;
  /** In words that continue "The agent …". */
  readonly status: string;
}

const GRACE_MS = 2_000;
/** Milliseconds that output of a process that has exited may still arrive, held open by one that left its group. */
const DRAIN_MS = 1_000;

/**
 * The process of an agent, in a group of its own: what it leaves behind is killed when it has ended, and it ends when this
 * process does. Whoever makes it ends it.
 */
export class AgentProcess {
  /** Resolves when it is gone and its output was read. Never rejects. */
  readonly ended: Promise<AgentExit>;
  readonly #options: AgentProcessOptions;
  readonly #confinement = new Confinement(0);
  readonly #child: ChildProcess;
  #exit: AgentExit | undefined;
  #ending: Promise<AgentExit> | undefined;

  /** @throws Error where a cgroup was asked for and cannot be made. */
  constructor(options: AgentProcessOptions) {
    const { command, variables, cwd, hasInput } = options;
    const [program = '', ...args] = command;
    this.#options = options;
    this.#child = spawn(program, args, {
      cwd,
      env: { ...variables, [PROCESS_VARIABLES.run]: this.#confinement.markValue },
      detached: true,
      stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
    if (this.#child.pid !== undefined) this.#confinement.hold(this.#child.pid);
    const logs = [
      this.#read(this.#child.stdout, new OutputLog({ source: 'stdout', onLog: options.onLog }), options.onOutput),
      this.#read(this.#child.stderr, new OutputLog({ source: 'stderr', onLog: options.onLog })),
    ];
    // It may end without having read its input.
    this.#child.stdin?.on('error', () => {});
    this.ended = this.#untilGone().then((exit) => {
      for (const log of logs) log?.end();
      return exit;
    });
  }

  get input(): Writable | null {
    return this.#child.stdin;
  }

  /** SIGTERM to its group, and SIGKILL after the grace. */
  end(): Promise<AgentExit> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<AgentExit> {
    const { pid } = this.#child;
    if (pid === undefined || this.#exit !== undefined) return await this.ended;
    signalGroup(pid, 'SIGTERM');
    const kill = setTimeout(() => signalGroup(pid, 'SIGKILL'), this.#options.graceMs ?? GRACE_MS);
    try {
      return await this.ended;
    } finally {
      clearTimeout(kill);
    }
  }

  #untilGone(): Promise<AgentExit> {
    const child = this.#child;
    let drain: NodeJS.Timeout | undefined;
    return new Promise((resolve) => {
      const settle = (exit: AgentExit) => {
        this.#exit ??= exit;
        clearTimeout(drain);
        resolve(this.#exit);
      };
      // Stays attached: a failed kill is reported here too, and must not be thrown.
      child.on('error', (error) => {
        if (child.pid !== undefined) return;
        this.#confinement.letGo();
        settle({ code: null, status: `could not be started (${messageOf(error)})` });
      });
      child.once('exit', (code, signal) => {
        this.#exit = {
          code,
          status: signal === null ? `exited with code ${code}` : `was ended by the signal ${signal}`,
        };
        this.#confinement.clear();
        drain = setTimeout(() => {
          for (const stream of child.stdio) stream?.destroy();
        }, DRAIN_MS);
      });
      child.once('close', () => {
        if (this.#exit !== undefined) settle(this.#exit);
      });
    });
  }

  #read(stream: Readable | null, log: OutputLog, also?: (chunk: Buffer) => void): OutputLog {
    stream?.on('data', (chunk: Buffer) => {
      log.write(chunk);
      also?.(chunk);
    });
    stream?.on('error', () => {});
    return log;
  }
}
