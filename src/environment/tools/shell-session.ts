import { randomBytes } from 'node:crypto';
import { endsWithin } from '../../support/runtime/deadline.ts';
import type { SandboxProcess } from '../sandbox/engine.ts';
import { OutputWindow } from '../sandbox/output-window.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { MarkerSplitter } from './marker-splitter.ts';
import { MAX_SHOWN_OUTPUT } from './tool-output.ts';

/** Milliseconds between the request to end and the end by force. */
const GRACE_MS = 2_000;
/** Milliseconds for the rest of an ended shell's output. */
const END_MS = 10_000;
/** Bytes of the shell's report on a command: its exit code, and process ids. */
const MAX_REPORT_BYTES = 64 * 1024;
/** The shell's own output is kept as descriptor 9, because a command may send descriptor 1 elsewhere. */
const START = 'exec 9>&1; if command -v bash >/dev/null 2>&1; then exec bash --noprofile --norc; else exec sh; fi';

export interface ShellResult {
  /** `ended`: the shell itself exited, with this exit code. `timeout`: the shell was ended. */
  readonly kind: 'done' | 'ended' | 'timeout';
  readonly exitCode: number | null;
  readonly output: string;
  readonly omittedBytes: number;
  readonly background: readonly number[];
  readonly durationMs: number;
}

/**
 * A shell that keeps its folder, variables and jobs from one command to the next. Each command is one quoted text for
 * `eval`, so that open quotes, syntax errors and here-documents end with it. A marker with random bytes tells the end.
 */
export class ShellSession {
  readonly #child: SandboxProcess;
  #window = newWindow();
  #report: Buffer[] = [];
  #reportBytes = 0;
  #section: 'output' | 'report' = 'output';
  #splitter: MarkerSplitter;
  #onReport: (() => void) | undefined;
  #exit: { readonly exitCode: number | null } | undefined;
  readonly #ended: Promise<void>;

  private constructor(child: SandboxProcess) {
    this.#child = child;
    this.#splitter = this.#newSplitter('');
    child.stdin.on('error', () => {}); // The end of the shell is told by `exited`.
    for (const stream of [child.stdout, child.stderr]) stream.on('error', () => {});
    child.stdout.on('data', (chunk: Buffer) => this.#splitter.write(chunk));
    child.stderr.resume(); // Commands write to standard output; the rest is the shell's own tracing.
    const settle = (exitCode: number | null) => {
      this.#exit = { exitCode };
    };
    this.#ended = child.exited.then(
      ({ exitCode }) => settle(exitCode),
      () => settle(null),
    );
  }

  static async start(sandbox: Sandbox): Promise<ShellSession> {
    return new ShellSession(await sandbox.spawn(['sh', '-c', START]));
  }

  get hasEnded(): boolean {
    return this.#exit !== undefined;
  }

  /** Runs a command. @throws the reason of the signal, after the shell and its jobs have been ended. */
  async run(command: string, timeoutMs: number, signal: AbortSignal): Promise<ShellResult> {
    const startedAt = performance.now();
    const nonce = randomBytes(16).toString('hex');
    this.#splitter.end();
    this.#splitter = this.#newSplitter(`\u001e${nonce}\n`);
    const reported = new Promise<void>((resolve) => {
      this.#onReport = resolve;
    });
    this.#child.stdin.write(toScript(command, nonce));
    const kind = await this.#wait(reported, timeoutMs, signal);
    const window = this.#window;
    this.#window = newWindow();
    const report = Buffer.concat(this.#report).toString('utf8');
    this.#report = [];
    this.#reportBytes = 0;
    const [code = '', ...jobs] = report.split('\n');
    return {
      kind,
      exitCode: kind === 'done' ? Number.parseInt(code, 10) : (this.#exit?.exitCode ?? null),
      output: window.text(),
      omittedBytes: window.omitted,
      background: jobs.flatMap((job) => (/^\d+$/.test(job) ? [Number(job)] : [])),
      durationMs: Math.round(performance.now() - startedAt),
    };
  }

  /** Ends the shell and all of its group. */
  async end(): Promise<void> {
    if (this.#exit === undefined) {
      await this.#kill('SIGTERM');
      await endsWithin(this.#ended, GRACE_MS);
    }
    // Jobs of the group may have outlived the shell.
    await this.#kill('SIGKILL');
    await endsWithin(this.#ended, END_MS);
  }

  async #wait(reported: Promise<void>, timeoutMs: number, signal: AbortSignal): Promise<ShellResult['kind']> {
    try {
      if (!(await endsWithin(Promise.race([reported, this.#ended]), timeoutMs, signal))) {
        await this.end();
        return 'timeout';
      }
    } catch (error) {
      await this.end();
      throw error;
    } finally {
      this.#onReport = undefined;
      this.#section = 'output';
    }
    if (this.#exit === undefined) return 'done';
    this.#splitter.end();
    await this.end();
    return 'ended';
  }

  #newSplitter(marker: string): MarkerSplitter {
    return new MarkerSplitter(
      marker === '' ? '\u001e\u001e' : marker,
      (bytes) => {
        if (this.#section === 'output') this.#window.write(bytes);
        else if (this.#reportBytes < MAX_REPORT_BYTES) {
          this.#report.push(Buffer.from(bytes));
          this.#reportBytes += bytes.length;
        }
      },
      () => {
        if (this.#section === 'output') this.#section = 'report';
        else this.#onReport?.();
      },
    );
  }
  async #kill(signal: NodeJS.Signals): Promise<void> {
    await this.#child.kill(signal).catch(() => {}); // A lost sandbox has no processes left.
  }
}

function newWindow(): OutputWindow {
  return new OutputWindow(MAX_SHOWN_OUTPUT / 2, MAX_SHOWN_OUTPUT / 2);
}

/**
 * The marker begins with a control character that the script only has in escaped form: a shell that prints the commands
 * it runs does not print a marker. `jobs` without options forgets jobs that are done.
 */
function toScript(command: string, nonce: string): string {
  // The blank keeps a command that begins with `-` from being an option of `eval`.
  const quoted = `' ${command.replaceAll("'", "'\\''")}'`;
  const marker = `\\036${nonce}\\n`;
  return [
    `command eval ${quoted} </dev/null >&9 2>&1 9>&-`,
    `; command printf '${marker}%s\\n' "$?" >&9 2>/dev/null`,
    `; { jobs >/dev/null; jobs -p; command printf '${marker}'; } >&9 2>/dev/null\n`,
  ].join('');
}
