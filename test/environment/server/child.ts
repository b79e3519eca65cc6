import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import { until } from '../../until.ts';

export const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
export const ENVIRONMENT_MAIN = fileURLToPath(
  new URL('../../../dist/environment/server/start/environment-main.js', import.meta.url),
);

export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Written to descriptor 4, which PROCTOR_HARNESS_KEY_FD then names. */
  readonly key?: string;
  /** The protocol's answers come on descriptor 3. */
  readonly hasProtocolDescriptor?: boolean;
}

/** A process with MCP on its standard input and output, or answers on descriptor 3. Killed when the test ends. */
export class Child implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly process: ChildProcess;
  readonly exited: Promise<number | NodeJS.Signals | null>;
  /** Whole lines of the stream with the answers that are no JSON. */
  readonly garbage: string[] = [];
  stderr = '';
  stdout = '';

  constructor(args: readonly string[], options: ChildOptions = {}) {
    const { env = {}, key, hasProtocolDescriptor = false } = options;
    this.process = spawn(process.execPath, args, {
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...env,
        ...(hasProtocolDescriptor ? { PROCTOR_PROTOCOL_FD: '3' } : {}),
        ...(key === undefined ? {} : { PROCTOR_HARNESS_KEY_FD: '4' }),
      },
    });
    const { stdio } = this.process;
    for (const stream of stdio) stream?.on('error', () => {});
    (stdio[4] as Writable).end(key ?? '');
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    if (hasProtocolDescriptor) {
      this.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
        this.stdout += text;
      });
    }
    const answers = hasProtocolDescriptor ? (stdio[3] as Readable) : (stdio[1] as Readable);
    createInterface(answers).on('line', (line) => {
      try {
        this.onmessage?.(JSON.parse(line));
      } catch {
        this.garbage.push(line);
      }
    });
    this.exited = new Promise((resolve) => {
      this.process.once('close', (code, signal) => {
        this.onclose?.();
        resolve(code ?? signal);
      });
    });
    onTestFinished(() => {
      this.process.kill('SIGKILL');
    });
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    this.process.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  /** Ends the input, as a client does that disconnects in order. */
  async close(): Promise<void> {
    this.process.stdin?.end();
    await this.exited;
  }

  async says(text: string): Promise<void> {
    await until(() => this.stderr.includes(text));
  }
}
