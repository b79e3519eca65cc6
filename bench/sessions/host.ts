import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/environment/server/start/environment-main.js', import.meta.url));
const TICK_MS = 10;

/** A host of the environment in a file, with nothing of ours between it and the sockets. */
export class BareHost {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #secret: string;

  private constructor(child: ChildProcess, folder: string, secret: string) {
    this.#child = child;
    this.#folder = folder;
    this.#secret = secret;
  }

  static async start(file: string): Promise<BareHost> {
    const folder = mkdtempSync(join(tmpdir(), 'bench-'));
    const secret = randomBytes(32).toString('base64url');
    const flags = (process.env.BENCH_HOST_FLAGS ?? '').split(' ').filter(Boolean);
    const child = spawn(process.execPath, [...flags, MAIN, file], {
      env: { ...process.env, PROCTOR_HOST_FD: '3' },
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    });
    const control = child.stdio[3] as Duplex;
    control.write(`${JSON.stringify({ kind: 'start', socket: join(folder, 's'), secret })}\n`);
    const lines = createInterface(control);
    await once(lines, 'line');
    lines.on('line', () => {});
    return new BareHost(child, folder, secret);
  }

  async open(name: string): Promise<RawSession> {
    const socket = connect(join(this.#folder, 's'));
    await once(socket, 'connect');
    const harness_key = randomBytes(32).toString('base64url');
    socket.write(`${this.#secret}\n${JSON.stringify({ session: name, harness_key })}\n`);
    const session = new RawSession(socket);
    const clientInfo = { name: 'bench', version: '1.0.0' };
    await session.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    socket.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    return session;
  }

  /** Processor time so far, in milliseconds; resident memory, in bytes. */
  usage(): { readonly cpuMs: number; readonly residentBytes: number } {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'latin1');
    const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
    return { cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS, residentBytes: kilobytes * 1_024 };
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** One session, one request at a time. Nothing is parsed: what is measured is the host. */
export class RawSession {
  readonly #socket: Socket;
  #id = 0;
  #answer: ((line: string) => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    let held = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      held += text;
      if (!held.endsWith('\n')) return;
      const line = held;
      held = '';
      this.#answer?.(line);
    });
  }

  async ask(method: string, params: object): Promise<void> {
    const answer = new Promise<string>((resolve) => {
      this.#answer = resolve;
    });
    this.#id += 1;
    this.#socket.write(`{"jsonrpc":"2.0","id":${this.#id},"method":"${method}","params":${JSON.stringify(params)}}\n`);
    const line = await answer;
    if (!line.includes('"result"') || line.includes('"isError":true')) throw new Error(`${method}: ${line}`);
  }

  close(): void {
    this.#socket.destroy();
  }
}
