import { ToolError } from 'proctor';
import { WorkFiles } from './files/work-files.ts';
import { grade, type TestOutcome } from './grading/grade.ts';
import type { ProcessLimits, ProcessResult } from './sandbox/run-process.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { SessionDirectory } from './session-directory.ts';
import type { CodingTask } from './tasks/coding-task.ts';

const MAX_COMMANDS_AT_ONCE = 4;

export interface WorkspaceLimits {
  /** Of a command; its time is the agent's choice up to `timeMs`. */
  readonly command: ProcessLimits;
  readonly hiddenTest: ProcessLimits;
  /** Of all hidden tests together. */
  readonly gradingMs: number;
}

/** The result of a command, for an agent. */
export type CommandReport = {
  /** Null for a command that was stopped. */
  readonly exit_code: number | null;
  /** Why it was stopped; null for one that ended by itself. */
  readonly stopped: string | null;
  /** Standard output and standard error, as they came. */
  readonly output: string;
  readonly duration_ms: number;
};

/**
 * What one session works on: a directory, and what runs in it. Grading begins when nothing of the agent's runs any more,
 * and nothing of it runs from then on, until the next task begins.
 */
export class Workspace {
  readonly #sandbox: Sandbox;
  readonly #limits: WorkspaceLimits;
  readonly #running = new Set<Promise<unknown>>();
  #directory: SessionDirectory;
  #work = new AbortController();
  #commands = 0;
  #isClosed = false;

  private constructor(sandbox: Sandbox, limits: WorkspaceLimits, directory: SessionDirectory) {
    this.#sandbox = sandbox;
    this.#limits = limits;
    this.#directory = directory;
  }

  /** With an empty directory. Whoever opens it closes it. */
  static async open(sandbox: Sandbox, limits: WorkspaceLimits): Promise<Workspace> {
    return new Workspace(sandbox, limits, await SessionDirectory.create());
  }

  /** Puts a new directory in the place of the one before. */
  async begin(files: Readonly<Record<string, string>>): Promise<void> {
    await this.#endWork('Another task has begun.');
    await this.#directory.remove();
    this.#directory = await SessionDirectory.create();
    if (this.#isClosed) {
      await this.#directory.remove();
      throw new Error('The session was closed');
    }
    await this.#directory.fill(files);
    this.#work = new AbortController();
  }

  /** Uses the files as the agent. @throws ToolError when the task is over. */
  useFiles<T>(signal: AbortSignal, use: (files: WorkFiles, signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#asAgent(signal, (either) => use(new WorkFiles(this.#directory.work), either));
  }

  /** Runs a shell command as the agent. @throws ToolError when the task is over, or too many commands run. */
  runCommand(command: string, timeMs: number, signal: AbortSignal): Promise<CommandReport> {
    if (this.#commands >= MAX_COMMANDS_AT_ONCE) {
      throw new ToolError(`${MAX_COMMANDS_AT_ONCE} commands run already: wait until one of them has ended.`);
    }
    this.#commands += 1;
    const limits = { ...this.#limits.command, timeMs };
    // One stream for both outputs, so that their order is kept.
    const shell = () => ['/bin/sh', '-c', 'exec /bin/sh -c "$0" 2>&1', command];
    const run = this.#asAgent(signal, (either) =>
      this.#sandbox.run({ directory: this.#directory, isReadOnly: false, command: shell, limits, signal: either }),
    );
    return run
      .then((result) => toReport(result, limits))
      .finally(() => {
        this.#commands -= 1;
      });
  }

  /** Ends the agent's work and runs the hidden tests on it. @throws Error when the sandbox fails. */
  async grade(task: CodingTask, signal: AbortSignal): Promise<readonly TestOutcome[]> {
    await this.#endWork('The task is over.');
    return await grade({
      sandbox: this.#sandbox,
      directory: this.#directory,
      module: task.module,
      tests: task.hiddenTests,
      limits: this.#limits.hiddenTest,
      timeMs: this.#limits.gradingMs,
      signal,
    });
  }

  /** Ends what runs and removes the directory. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#endWork('The session is over.');
    await this.#directory.remove();
  }

  async #asAgent<T>(signal: AbortSignal, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#work.signal.throwIfAborted();
    const action = act(AbortSignal.any([signal, this.#work.signal]));
    this.#running.add(action);
    try {
      return await action;
    } finally {
      this.#running.delete(action);
    }
  }

  async #endWork(reason: string): Promise<void> {
    this.#work.abort(new ToolError(reason));
    await Promise.allSettled(this.#running);
  }
}

function toReport({ ending, exitCode, output, durationMs }: ProcessResult, limits: ProcessLimits): CommandReport {
  const reasons = {
    exited: null,
    time: `It ran longer than ${limits.timeMs} ms.`,
    memory: `Its processes used more than ${limits.memoryBytes} bytes of memory.`,
    processes: `It had more than ${limits.processes} processes.`,
    output: `It wrote more than ${limits.outputBytes} bytes.`,
  } as const;
  const isStopped = ending !== 'exited';
  return { exit_code: isStopped ? null : exitCode, stopped: reasons[ending], output, duration_ms: durationMs };
}
