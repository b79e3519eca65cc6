import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { HttpClient } from './http-client.ts';

const CALLS = Number(process.env.BENCH_CALLS ?? 1_000_000);
const WARM_UP_CALLS = 20_000;
const SESSIONS = 10_000;
/** As many as the server holds at once; more make it end the oldest. */
const CAP = 1_000;
const IN_FLIGHT = 32;
const KIB = 1_024;

interface Memory {
  readonly heapUsed: number;
  readonly rss: number;
}

/**
 * What stays on the heap after forced garbage collection: over many calls of either era, over many sessions that are
 * opened and abandoned, for each session that is open and idle, and for those whose stream is open. The environment is
 * `counter`, over HTTP.
 */
export async function run(): Promise<void> {
  const rows = [
    await overCalls('session'),
    await overCalls('2026-07-28'),
    ...(await overSessions()),
    await afterExpiry(),
    await withStreams(),
  ];
  console.log('| live heap after forced GC, MiB | before | after | ratio | resident, before | after |');
  console.log('|---|--:|--:|--:|--:|--:|');
  for (const [name, before, after] of rows) {
    const heaps = `${mebibytes(before.heapUsed)} | ${mebibytes(after.heapUsed)}`;
    const ratio = (after.heapUsed / before.heapUsed).toFixed(3);
    console.log(`| ${name} | ${heaps} | ${ratio} | ${mebibytes(before.rss)} | ${mebibytes(after.rss)} |`);
  }
}

type Row = readonly [name: string, before: Memory, after: Memory];

async function overCalls(protocol: 'session' | '2026-07-28'): Promise<Row> {
  const server = await Server.start();
  const headers = protocol === 'session' ? `mcp-session-id: ${await server.openSession()}\r\n` : MODERN_HEADERS;
  const params = { name: 'increment', arguments: {}, ...(protocol === 'session' ? {} : { _meta: MODERN_META }) };
  await server.calls(headers, params, WARM_UP_CALLS);
  const before = await server.memory();
  await server.calls(headers, params, CALLS);
  const after = await server.memory();
  server.stop();
  return [`${CALLS.toLocaleString('en')} calls, ${protocol}`, before, after];
}

async function overSessions(): Promise<Row[]> {
  const server = await Server.start();
  await server.openSessions(10);
  const empty = await server.memory();
  await server.openSessions(CAP - 10);
  const full = await server.memory();
  await server.openSessions(2 * CAP);
  const steady = await server.memory();
  await server.openSessions(SESSIONS);
  const after = await server.memory();
  server.stop();
  const each = (full.heapUsed - empty.heapUsed) / (CAP - 10) / KIB;
  console.log(`An idle session of counter: ${each.toFixed(1)} KiB of live heap (${CAP - 10} sessions)`);
  return [[`${SESSIONS.toLocaleString('en')} sessions opened and abandoned, ${CAP} held`, steady, after]];
}

async function afterExpiry(): Promise<Row> {
  const idleTimeoutMs = 2_000;
  const server = await Server.start({ IDLE_TIMEOUT_MS: String(idleTimeoutMs) });
  await server.openSessions(2 * CAP);
  await server.expired(idleTimeoutMs);
  const before = await server.memory();
  await server.openSessions(SESSIONS);
  await server.expired(idleTimeoutMs);
  const after = await server.memory();
  server.stop();
  return [`${SESSIONS.toLocaleString('en')} sessions opened, abandoned and expired`, before, after];
}

async function withStreams(): Promise<Row> {
  const server = await Server.start();
  const before = await server.memory();
  await server.openStreams(CAP);
  const after = await server.memory();
  server.stop();
  return [`none, and ${CAP.toLocaleString('en')} sessions with an open stream`, before, after];
}

/** The process that is measured, and a client of it. */
class Server {
  readonly #child: ChildProcess;
  readonly #client: HttpClient;
  readonly #port: number;
  readonly #streams: Socket[] = [];

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#port = Number(new URL(url).port);
    this.#client = new HttpClient(this.#port);
  }

  static async start(variables: Readonly<Record<string, string>> = {}): Promise<Server> {
    const program = fileURLToPath(new URL('./servers/measured.ts', import.meta.url));
    const child = spawn(process.execPath, ['--expose-gc', '--import', 'tsx', program], {
      env: { ...process.env, ...variables },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    return new Server(child, String(await ask(child, 'url')));
  }

  async memory(): Promise<Memory> {
    return (await ask(this.#child, 'heap')) as Memory;
  }

  async openSession(): Promise<string> {
    const clientInfo = { name: 'bench', version: '1.0.0' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const session = await this.#post('', { id: 1, method: 'initialize', params });
    if (session === undefined) throw new Error('initialize gave no session');
    await this.#post(`mcp-session-id: ${session}\r\n`, { method: 'notifications/initialized' });
    return session;
  }

  /** Opens sessions, each with the stream that a client gets messages on. */
  async openStreams(count: number): Promise<void> {
    for (let opened = 0; opened < count; opened += 1) {
      const session = await this.openSession();
      const stream = connect({ host: '127.0.0.1', port: this.#port });
      stream.on('error', () => {});
      this.#streams.push(stream);
      const accept = 'accept: text/event-stream\r\n';
      stream.write(`GET /mcp HTTP/1.1\r\nhost: localhost\r\n${accept}mcp-session-id: ${session}\r\n\r\n`);
      const [head] = (await once(stream, 'data')) as [Buffer];
      if (!head.toString().startsWith('HTTP/1.1 200')) throw new Error(`No stream: ${head}`);
    }
  }

  async openSessions(count: number): Promise<void> {
    let left = count;
    const worker = async () => {
      while (left-- > 0) await this.openSession();
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  }

  async calls(headers: string, params: object, count: number): Promise<void> {
    let sent = 0;
    const worker = async () => {
      while (sent++ < count) await this.#post(headers, { id: sent + 10, method: 'tools/call', params });
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  }

  /** Waits until sessions that were left alone have been ended. */
  async expired(idleTimeoutMs: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 3 * idleTimeoutMs));
  }

  stop(): void {
    this.#client.close();
    for (const stream of this.#streams) stream.destroy();
    this.#child.kill('SIGKILL');
  }

  /** The session that the answer names. */
  async #post(headers: string, message: object): Promise<string | undefined> {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    const reply = await this.#client.post('/mcp', HEADERS + headers, body);
    if (reply.status === 202 || (reply.status === 200 && reply.body.includes('"result"'))) {
      return reply.header('mcp-session-id');
    }
    throw new Error(`${reply.status} ${reply.body} for ${body}`);
  }
}

const HEADERS = 'content-type: application/json\r\naccept: application/json, text/event-stream\r\n';
const MODERN_HEADERS = 'mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: increment\r\n';
const MODERN_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

async function ask(child: ChildProcess, question: string): Promise<unknown> {
  child.send(question);
  const [answer] = await once(child, 'message');
  return answer;
}

function mebibytes(bytes: number): string {
  return (bytes / KIB / KIB).toFixed(2);
}
