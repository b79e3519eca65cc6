import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { messageOf } from '../../contract/errors.ts';
import { PROCESS_VARIABLES } from '../../contract/names.ts';
import type { LogRecord } from '../../contract/service/trace.ts';
import { Confinement } from '../../environment/process/confinement.ts';
import { OutputTail } from '../../environment/process/output-tail.ts';
import { signalGroup } from '../../environment/process/process-group.ts';
import { OutputLog } from './output-log.ts';
import { SANDBOX_STATUS_FD, saysStarted } from './sandbox.ts';

export interface AgentProcessOptions {
  /** The program, an absolute path or a name on the `PATH`, and its arguments. */
  readonly command: readonly string[];
  /** The whole environment of the process. */
  readonly variables: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** True if the command makes a sandbox first and starts the agent's program in it. */
  readonly hasSandbox: boolean;
  /** False closes the standard input of the process. */
  readonly hasInput: boolean;
  readonly onLog: (record: Omit<LogRecord, 'at'>) => void;
  /** Called with each chunk of standard output, beside the log. */
  readonly onOutput?: ((chunk: Buffer) => void) | undefined;
  /** Milliseconds between SIGTERM and SIGKILL. Default 2,000. */
  readonly graceMs?: number | undefined;
}

export interface AgentExit {
  /** Exit code; null if a signal ended the process or it did not start. */
  readonly code: number | null;
  /** False if the agent's program never ran: it was not found, or its sandbox could not be made. */
  readonly isStarted: boolean;
  /** End of the process, in words that continue "The agent …". */
  readonly status: string;
}

const GRACE_MS = 2_000;
/** Milliseconds to wait for output after the exit. A child that left the process group may hold the output open. */
const DRAIN_MS = 1_000;
/** Characters of the first errors that are kept. They explain a sandbox that could not be made. */
const FIRST_ERRORS = 2_048;

/**
 * The process of an agent, in its own group. The rest of the group is killed when the process ends, and all of it ends
 * with this process. The caller must end it.
 */
export class AgentProcess {
  /** Resolves when the process is gone and its output is read. Never rejects. */
  readonly ended: Promise<AgentExit>;
  readonly #options: AgentProcessOptions;
  readonly #confinement = new Confinement(0);
  readonly #child: ChildProcess;
  #exit: AgentExit | undefined;
  #sandboxStatus = '';
  #firstErrors = '';
  #ending: Promise<AgentExit> | undefined;

  /** @throws Error if a cgroup was asked for and cannot be made. */
  constructor(options: AgentProcessOptions) {
    const { command, variables, cwd, hasInput, hasSandbox } = options;
    const [program = '', ...args] = command;
    this.#options = options;
    this.#child = spawn(program, args, {
      cwd,
      env: { ...variables, [PROCESS_VARIABLES.run]: this.#confinement.markValue },
      detached: true,
      stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe', hasSandbox ? 'pipe' : 'ignore'],
    });
    this.#child.stdio[SANDBOX_STATUS_FD]?.on('data', (chunk: Buffer) => {
      this.#sandboxStatus += chunk.toString('utf8');
    });
    if (this.#child.pid !== undefined) this.#confinement.hold(this.#child.pid);
    const logs = [
      this.#read(this.#child.stdout, new OutputLog({ source: 'stdout', onLog: options.onLog }), options.onOutput),
      this.#read(this.#child.stderr, new OutputLog({ source: 'stderr', onLog: options.onLog }), (chunk) => {
        if (this.#firstErrors.length < FIRST_ERRORS) this.#firstErrors += chunk.toString('utf8');
      }),
    ];
    // The process may exit before it has read its input.
    this.#child.stdin?.on('error', () => {});
    this.ended = this.#untilGone().then((exit) => {
      for (const log of logs) log?.end();
      return exit;
    });
  }

  get input(): Writable | null {
    return this.#child.stdin;
  }

  /** Sends SIGTERM to the group, and SIGKILL after the grace period. */
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
        this.#exit = exit;
        clearTimeout(drain);
        resolve(exit);
      };
      // This listener stays: a failed kill also emits `error`, which would be thrown without a listener.
      child.on('error', (error) => {
        if (child.pid !== undefined) return;
        this.#confinement.letGo();
        settle({ code: null, isStarted: false, status: `could not be started (${messageOf(error)})` });
      });
      child.once('exit', (code, signal) => {
        this.#exit = {
          code,
          isStarted: true,
          status: signal === null ? `exited with code ${code}` : `was ended by the signal ${signal}`,
        };
        this.#confinement.clear();
        drain = setTimeout(() => {
          for (const stream of child.stdio) stream?.destroy();
        }, DRAIN_MS);
      });
      child.once('close', () => {
        if (this.#exit !== undefined) settle(this.#isWithoutSandbox(this.#exit) ? this.#toNeverStarted() : this.#exit);
      });
    });
  }

  /** True if the sandbox exited by itself before it started the program. A killed sandbox may have started it. */
  #isWithoutSandbox({ code }: AgentExit): boolean {
    return this.#options.hasSandbox && code !== null && !saysStarted(this.#sandboxStatus);
  }

  #toNeverStarted(): AgentExit {
    const said = new OutputTail();
    for (const line of this.#firstErrors.slice(0, FIRST_ERRORS).split('\n')) said.add(line);
    const reason = said.text() || 'bubblewrap gave no reason';
    return { code: null, isStarted: false, status: `was not started, since its sandbox could not be made (${reason})` };
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
