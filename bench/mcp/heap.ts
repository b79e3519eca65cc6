import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';

const CALLS = 100_000;
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
 * What stays on the heap after forced garbage collection: over many calls in one session, over many sessions that are
 * opened and abandoned, and for each session that is open and idle. The environment is `counter`, over HTTP.
 */
export async function run(): Promise<void> {
  const rows = [await overCalls(), ...(await overSessions()), await afterExpiry()];
  console.log('| live heap after forced GC | before | after | ratio |');
  console.log('|---|--:|--:|--:|');
  for (const [name, before, after] of rows) {
    const ratio = (after.heapUsed / before.heapUsed).toFixed(3);
    console.log(`| ${name} | ${mebibytes(before)} | ${mebibytes(after)} | ${ratio} |`);
  }
}

type Row = readonly [name: string, before: Memory, after: Memory];

async function overCalls(): Promise<Row> {
  const server = await Server.start();
  const session = await server.openSession();
  await server.calls(session, 20_000);
  const before = await server.memory();
  await server.calls(session, CALLS);
  const after = await server.memory();
  server.stop();
  return [`${CALLS.toLocaleString('en')} calls in one session`, before, after];
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

/** The process that is measured, and a client of it. */
class Server {
  readonly #child: ChildProcess;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });
  readonly #url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
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
    const session = await this.#post({ id: 1, method: 'initialize', params });
    if (session === undefined) throw new Error('initialize gave no session');
    await this.#post({ method: 'notifications/initialized' }, session);
    return session;
  }

  async openSessions(count: number): Promise<void> {
    let left = count;
    const worker = async () => {
      while (left-- > 0) await this.openSession();
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  }

  async calls(session: string, count: number): Promise<void> {
    let sent = 0;
    const worker = async () => {
      while (sent++ < count) {
        await this.#post(
          { id: sent + 10, method: 'tools/call', params: { name: 'increment', arguments: {} } },
          session,
        );
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  }

  /** Waits until sessions that were left alone have been ended. */
  async expired(idleTimeoutMs: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 3 * idleTimeoutMs));
  }

  stop(): void {
    this.#agent.destroy();
    this.#child.kill('SIGKILL');
  }

  #post(message: object, session?: string): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      const body = JSON.stringify({ jsonrpc: '2.0', ...message });
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'content-length': Buffer.byteLength(body),
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      };
      const sent = request(this.#url, { method: 'POST', agent: this.#agent, headers }, (reply) => {
        reply.resume();
        reply.on('error', reject);
        reply.on('end', () => {
          if (reply.statusCode === 200 || reply.statusCode === 202) resolve(reply.headers['mcp-session-id'] as string);
          else reject(new Error(`${reply.statusCode} for ${body}`));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

async function ask(child: ChildProcess, question: string): Promise<unknown> {
  child.send(question);
  const [answer] = await once(child, 'message');
  return answer;
}

function mebibytes({ heapUsed }: Memory): string {
  return `${(heapUsed / KIB / KIB).toFixed(2)} MiB`;
}
