import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { HttpClient } from './http-client.ts';
import type { Target } from './targets.ts';

/** A process of a target, and one client connected to it. Whoever opened it closes it. */
export interface Connection {
  /** Milliseconds from the spawn to the answered handshake. */
  readonly coldMs: number;
  /** Sends one call and resolves when its answer is there. @throws Error for an answer that is none. */
  call(): Promise<void>;
  /** Microseconds of processor time that the server has taken so far; not a number where `/proc` is missing. */
  cpuUs(): number;
  close(): Promise<void>;
}

/** Sends one message and resolves with its answer, which is undefined for a notification. */
type Send = (message: Message) => Promise<{ readonly result?: unknown } | undefined>;
interface Message {
  readonly method: string;
  readonly params?: object;
}

const CLOCK_TICK_US = 10_000;
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
};

export async function open(target: Target): Promise<Connection> {
  const startedAt = performance.now();
  const { child, send, end } = target.transport === 'stdio' ? openStdio(target) : await openHttp(target);
  const call = { method: 'tools/call', params: { name: 'echo', arguments: { message: 'hello' } } };
  const modern = { ...call, params: { ...call.params, _meta: META } };
  if (target.protocol === 'session') await shakeHands(send);
  else await send(target.protocol === 'none' ? call : { method: 'server/discover', params: { _meta: META } });
  const coldMs = performance.now() - startedAt;
  return {
    coldMs,
    async call() {
      const answer = await send(target.protocol === '2026-07-28' ? modern : call);
      if (answer?.result === undefined) throw new Error(`${target.name} answered ${JSON.stringify(answer)}`);
    },
    cpuUs: () => readCpuUs(child.pid),
    async close() {
      end();
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

async function shakeHands(send: Send): Promise<void> {
  const clientInfo = { name: 'bench', version: '1.0.0' };
  await send({ method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } });
  await send({ method: 'notifications/initialized' });
}

function openStdio({ program }: Target): { child: ChildProcess; send: Send; end(): void } {
  const child = spawn(process.execPath, program, { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map<number, (answer: object) => void>();
  let nextId = 1;
  let rest = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const answer: { readonly id?: number } = JSON.parse(line);
      const resolve = waiting.get(answer.id ?? 0);
      waiting.delete(answer.id ?? 0);
      resolve?.(answer);
    }
  });
  const send: Send = (message) => {
    const isNotification = message.method.startsWith('notifications/');
    const id = isNotification ? undefined : nextId++;
    child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...message })}\n`);
    return id === undefined ? Promise.resolve(undefined) : new Promise((resolve) => waiting.set(id, resolve));
  };
  return { child, send, end: () => child.stdin?.end() };
}

async function openHttp(target: Target): Promise<{ child: ChildProcess; send: Send; end(): void }> {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), PROCTOR_TRANSPORT: 'http', PROCTOR_PORT: String(port) };
  const child = spawn(process.execPath, target.program, { env, stdio: 'ignore' });
  const client = new HttpClient(port);
  let headers = 'content-type: application/json\r\naccept: application/json, text/event-stream\r\n';
  let nextId = 1;
  const post: Send = async (message) => {
    const isNotification = message.method.startsWith('notifications/');
    const body = JSON.stringify({ jsonrpc: '2.0', id: isNotification ? undefined : nextId++, ...message });
    const own = target.protocol === '2026-07-28' ? modernHeaders(message) : '';
    const reply = await client.post(target.path ?? '/mcp', headers + own, body);
    const session = reply.header('mcp-session-id');
    if (session !== undefined && !headers.includes('mcp-session-id')) headers += `mcp-session-id: ${session}\r\n`;
    return parseAnswer(reply.body);
  };
  // Until it listens; every answer of the handshake but the first comes at once.
  const send: Send = async (message) => {
    for (;;) {
      try {
        return await post(message);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED' || child.exitCode !== null) throw error;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    }
  };
  return { child, send, end: () => client.close() };
}

function modernHeaders({ method, params }: Message): string {
  const name = (params as { readonly name?: string } | undefined)?.name;
  const own = `mcp-protocol-version: 2026-07-28\r\nmcp-method: ${method}\r\n`;
  return name === undefined ? own : `${own}mcp-name: ${name}\r\n`;
}

/** JSON, or the one event of a stream. */
function parseAnswer(text: string): { readonly result?: unknown } | undefined {
  if (text === '') return undefined;
  return JSON.parse(text.startsWith('{') ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? text));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No port');
  return address.port;
}

function readCpuUs(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_US;
  } catch {
    return Number.NaN;
  }
}
