import { randomUUID } from 'node:crypto';
import { shellQuoted } from '../../support/text/shell-quote.ts';
import type { SandboxProcess } from '../sandbox/engine.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { type CommandOutput, SHOWN_BYTES } from './command-output.ts';
import { SentinelReader } from './sentinel-reader.ts';

/** Programs that would wait for a key, or draw, in a shell that nobody sees. */
export const QUIET_VARIABLES = {
  TERM: 'dumb',
  PAGER: 'cat',
  MANPAGER: 'cat',
  GIT_PAGER: 'cat',
  PIP_PROGRESS_BAR: 'off',
  TQDM_DISABLE: '1',
} as const;

/** Bash where the image has it, else `sh`, which every image has. Neither reads files of a home folder. */
const START_SHELL = 'command -v bash >/dev/null 2>&1 && exec bash --noprofile --norc; exec sh';

/** A shell that keeps its folder and its variables from one command to the next. Commands run one after another. */
export class PersistentShell {
  readonly #sandbox: Sandbox;
  #process: SandboxProcess | undefined;
  #hasEnded = false;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** Runs a command. The shell's process group is ended if the time is over or the signal is aborted. */
  run(command: string, timeoutMs: number, signal: AbortSignal): Promise<CommandOutput> {
    return this.#inTurn(() => this.#run(command, timeoutMs, signal));
  }

  /** Ends the shell and all that runs in its group. The next command starts a new one. */
  restart(): Promise<void> {
    return this.#inTurn(() => this.#end());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(work);
    this.#queue = turn.catch(() => {});
    return turn;
  }

  async #run(command: string, timeoutMs: number, signal: AbortSignal): Promise<CommandOutput> {
    signal.throwIfAborted();
    const startedAt = performance.now();
    const notes = this.#hasEnded ? ['The shell had ended since the last command, and was started anew.'] : [];
    const shell = await this.#open();
    const sentinel = randomUUID();
    const reader = new SentinelReader(sentinel, SHOWN_BYTES);
    const end = await untilEnd(shell, reader, toScript(command, sentinel), timeoutMs, signal);
    if (end !== 'done') await this.#end();
    signal.throwIfAborted();
    const exitCode = end === 'done' ? (reader.exitCode ?? null) : end === 'time' ? null : end.exitCode;
    if (end === 'time') {
      notes.push(`timed out: the command has not returned in ${timeoutMs / 1_000} seconds. ${RESTARTED}`);
    } else if (end !== 'done') {
      notes.push(`the shell has exited with returncode ${end.exitCode}. ${RESTARTED}`);
    }
    const memory = isKilled(exitCode) ? await this.#sandbox.memoryFault() : undefined;
    return {
      exitCode,
      output: reader.text(),
      omittedBytes: reader.omittedBytes,
      timedOut: end === 'time',
      durationMs: Math.round(performance.now() - startedAt),
      notes: memory === undefined ? notes : [...notes, memory],
    };
  }

  async #open(): Promise<SandboxProcess> {
    if (this.#process !== undefined) return this.#process;
    const opened = await this.#sandbox.spawn(['sh', '-c', START_SHELL], { env: QUIET_VARIABLES });
    this.#process = opened;
    this.#hasEnded = false;
    for (const stream of [opened.stdin, opened.stdout, opened.stderr]) stream.on('error', () => {}); // `exited` tells.
    opened.stderr.resume(); // Commands write to standard output; the shell itself has nothing to say.
    const forget = () => {
      if (this.#process !== opened) return;
      this.#process = undefined;
      this.#hasEnded = true;
    };
    opened.exited.then(forget, forget);
    return opened;
  }

  async #end(): Promise<void> {
    const ended = this.#process;
    this.#process = undefined;
    this.#hasEnded = false;
    await ended?.kill('SIGKILL');
  }
}

const RESTARTED = 'The shell was restarted: its folder and its variables are those of the beginning.';

/** Exit code of a process that was ended by SIGKILL. */
function isKilled(exitCode: number | null): boolean {
  return exitCode === 137;
}

/**
 * One line, so that the shell has read all of it before the command runs. The command's input is empty: nothing can take
 * the sentinel away, and a program that waits for input goes on. `command` keeps a syntax error from ending `sh`.
 */
function toScript(command: string, sentinel: string): string {
  return `command eval ${shellQuoted(command)} </dev/null 2>&1; printf '\\n%s %d\\n' ${sentinel} "$?"\n`;
}

type ShellEnd = 'done' | 'time' | { readonly exitCode: number | null };

async function untilEnd(
  shell: SandboxProcess,
  reader: SentinelReader,
  script: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ShellEnd> {
  let stop = () => {};
  try {
    return await new Promise<ShellEnd>((resolve, reject) => {
      const onData = (chunk: Buffer) => {
        if (reader.write(chunk)) resolve('done');
      };
      const onTime = () => resolve('time');
      const timer = setTimeout(onTime, timeoutMs);
      signal.addEventListener('abort', onTime, { once: true });
      shell.stdout.on('data', onData);
      stop = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onTime);
        shell.stdout.off('data', onData);
      };
      shell.exited.then(({ exitCode }) => resolve({ exitCode }), reject);
      shell.stdin.write(script);
    });
  } finally {
    stop();
    shell.stdout.resume(); // Output of background programs between two commands is dropped.
  }
}
