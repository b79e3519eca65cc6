import { randomUUID } from 'node:crypto';
import { endsWithin } from '../../support/runtime/deadline.ts';
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

/**
 * Bash where the image has it, else `sh`, which every image has. Neither reads files of a home folder. Descriptor 9 keeps
 * the shell's output, because a command may send its own elsewhere for good.
 */
const START_SHELL = 'exec 9>&1; command -v bash >/dev/null 2>&1 && exec bash --noprofile --norc; exec sh';
const RESTARTED = 'The shell was restarted: its folder and its variables are those of the beginning.';
const HAD_ENDED = 'The shell had ended since the last command, and was started anew.';
/** Exit code of a process that was ended by SIGKILL. */
const KILLED = 137;
/** Milliseconds for the end of a shell that was killed. */
const END_MS = 10_000;

/** A shell that runs, and the end of it. */
interface OpenShell {
  readonly process: SandboxProcess;
  /** Set once the shell itself has ended. */
  exit?: { readonly exitCode: number | null };
  /** Set while a command waits: it is told of the end of the shell. */
  onExit?: (() => void) | undefined;
}

/** How the wait for a command ended. `stopped`: the time was over, or the signal was aborted. */
type CommandEnd = 'done' | 'stopped' | 'exited';

/** A shell that keeps its folder and its variables from one command to the next. Commands run one after another. */
export class PersistentShell {
  readonly #sandbox: Sandbox;
  #shell: OpenShell | undefined;
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
    const notes: string[] = [];
    if (this.#shell?.exit !== undefined) {
      await this.#end();
      notes.push(HAD_ENDED);
    }
    this.#shell ??= await this.#open();
    const shell = this.#shell;
    const sentinel = randomUUID();
    const reader = new SentinelReader(sentinel, SHOWN_BYTES);
    const end = await untilEnd(shell, reader, toScript(command, sentinel), timeoutMs, signal);
    const exitCode = end === 'done' ? (reader.exitCode ?? null) : (shell.exit?.exitCode ?? null);
    if (end !== 'done') await this.#end();
    signal.throwIfAborted();
    if (end === 'stopped') {
      notes.push(`timed out: the command has not returned in ${timeoutMs / 1_000} seconds. ${RESTARTED}`);
    } else if (end === 'exited') {
      notes.push(`the shell has exited with returncode ${exitCode}. ${RESTARTED}`);
    }
    const memory = exitCode === KILLED ? await this.#sandbox.memoryFault() : undefined;
    return {
      exitCode: end === 'stopped' ? null : exitCode,
      output: reader.text(),
      omittedBytes: reader.omittedBytes,
      timedOut: end === 'stopped',
      durationMs: Math.round(performance.now() - startedAt),
      background: reader.background,
      notes: memory === undefined ? notes : [...notes, memory],
    };
  }

  async #open(): Promise<OpenShell> {
    const process = await this.#sandbox.spawn(['sh', '-c', START_SHELL], { env: QUIET_VARIABLES });
    for (const stream of [process.stdin, process.stdout, process.stderr]) stream.on('error', () => {}); // `exited` tells.
    process.stderr.resume(); // Commands write to standard output; the shell itself has nothing to say.
    const shell: OpenShell = { process };
    const exited = (exitCode: number | null) => {
      shell.exit = { exitCode };
      shell.onExit?.();
    };
    process.exited.then(
      ({ exitCode, signal }) => exited(exitCode ?? (signal === 'SIGKILL' ? KILLED : null)),
      () => exited(null), // The engine failed: the next use of the sandbox says it.
    );
    return shell;
  }

  async #end(): Promise<void> {
    const shell = this.#shell;
    this.#shell = undefined;
    if (shell === undefined) return;
    await shell.process.kill('SIGKILL');
    await endsWithin(
      shell.process.exited.catch(() => {}),
      END_MS,
    );
  }
}

/**
 * Commands have no input, so that nothing takes the next command away and a program that waits for input goes on. The
 * command is one quoted text, whose blank keeps it from being an option: open quotes and here-documents end with it. `command` keeps a syntax error from ending `sh`.
 * `jobs` forgets those that have ended, and `jobs -p` names the others.
 */
function toScript(command: string, sentinel: string): string {
  return [
    `command eval ${shellQuoted(` ${command}`)} </dev/null >&9 2>&1 9>&-`,
    `{ command printf '\\n%s\\n%d\\n' ${sentinel} "$?"; jobs >/dev/null; jobs -p; command printf '%s.\\n' ${sentinel}; } >&9 2>/dev/null\n`,
  ].join('; ');
}

async function untilEnd(
  shell: OpenShell,
  reader: SentinelReader,
  script: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<CommandEnd> {
  const { stdin, stdout } = shell.process;
  let stop = () => {};
  try {
    return await new Promise<CommandEnd>((resolve) => {
      const onData = (chunk: Buffer) => {
        if (reader.write(chunk)) resolve('done');
      };
      const onStop = () => resolve('stopped');
      const timer = setTimeout(onStop, timeoutMs);
      signal.addEventListener('abort', onStop, { once: true });
      if (signal.aborted) onStop();
      shell.onExit = () => resolve('exited');
      if (shell.exit !== undefined) resolve('exited');
      stdout.on('data', onData);
      stop = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onStop);
        stdout.off('data', onData);
        shell.onExit = undefined;
      };
      stdin.write(script);
    });
  } finally {
    stop();
    stdout.resume(); // Output of background programs between two commands is dropped.
  }
}
