import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** A TypeScript file of the tests that runs as a process of its own. */
export class Script {
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown[]>;
  #output = '';
  #onOutput = () => {};

  /** The process does not outlive the test. */
  constructor(file: URL, args: readonly string[]) {
    this.#process = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(file), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#ended = once(this.#process, 'close');
    this.#process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
      this.#onOutput();
    });
    onTestFinished(() => void this.#process.kill('SIGKILL'));
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** What it has said on standard output so far, in whole lines. */
  get lines(): readonly string[] {
    return this.#output.split('\n').slice(0, -1);
  }

  /** Resolves once it has said so many lines. */
  async said(lines: number): Promise<void> {
    const enough = new Promise<void>((resolve) => {
      this.#onOutput = () => {
        if (this.lines.length >= lines) resolve();
      };
      this.#onOutput();
    });
    const ended = this.#ended.then(() => {
      if (this.lines.length < lines) throw new Error(`The process ended after saying ${JSON.stringify(this.#output)}`);
    });
    await Promise.race([enough, ended]);
  }

  /** Its lines, once it has ended by itself. @throws Error when it did not exit with 0. */
  async end(): Promise<readonly string[]> {
    const [code, signal] = await this.#ended;
    if (code !== 0) throw new Error(`The process ended with ${signal ?? code} after saying ${this.#output}`);
    return this.lines;
  }

  /** Its lines, once it was ended by `kill -9`. @throws Error when it had ended before. */
  async kill(): Promise<readonly string[]> {
    this.#process.kill('SIGKILL');
    const [code, signal] = await this.#ended;
    if (signal !== 'SIGKILL') throw new Error(`The process had ended with ${signal ?? code}`);
    return this.lines;
  }
}
