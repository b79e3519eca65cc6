import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface FakeRequest {
  readonly method: string;
  /** The path without the version of the API. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Version in the path, such as `1.41`. */
  readonly version: string | undefined;
  readonly body: string;
}

/** How a fake answers: with JSON, with an error, with a stream in pieces, with silence, or by dropping the connection. */
export type FakeAnswer =
  | { readonly json: unknown; readonly status?: number }
  | { readonly pieces: readonly (string | Buffer)[]; readonly headers?: Readonly<Record<string, string>> }
  | { readonly upgraded: (socket: Socket) => void }
  | 'silence'
  | 'drop';

export type FakeHandler = (request: FakeRequest) => FakeAnswer | undefined;

export const VERSION = { Version: '99.0', ApiVersion: '1.44', MinAPIVersion: '1.24' };
export const INFO = {
  MemTotal: 8e9,
  NCPU: 4,
  MemoryLimit: true,
  CpuCfsQuota: true,
  PidsLimit: true,
  Driver: 'overlay2',
};
const ID = 'a'.repeat(64);

/** An engine whose faults a test chooses. What the handler leaves is answered as by an engine that is well. */
export class FakeEngine {
  readonly url: string;
  readonly requests: FakeRequest[] = [];
  readonly #folder: string;
  readonly #server: ReturnType<typeof createServer>;
  readonly #sockets = new Set<Socket>();

  private constructor(folder: string, server: ReturnType<typeof createServer>) {
    this.#folder = folder;
    this.#server = server;
    this.url = `unix://${join(folder, 'engine.sock')}`;
  }

  static async start(handler: FakeHandler): Promise<FakeEngine> {
    const server = createServer();
    const fake = new FakeEngine(await mkdtemp(join(tmpdir(), 'fake-engine-')), server);
    server.on('connection', (socket) => {
      fake.#sockets.add(socket);
      socket.on('close', () => fake.#sockets.delete(socket)).on('error', () => {});
    });
    const take = async (request: IncomingMessage) => {
      const taken = await read(request);
      fake.requests.push(taken);
      return handler(taken) ?? usual(taken);
    };
    server.on('request', async (request, response) => reply(await take(request), response));
    server.on('upgrade', async (request, socket: Socket) => upgrade(await take(request), socket));
    await new Promise<void>((resolve) => server.listen(new URL(fake.url).pathname, resolve));
    return fake;
  }

  /** Connections that clients hold open. */
  get connections(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** A frame of an exec's output. */
export function frame(stream: 1 | 2, payload: string | Buffer): Buffer {
  const bytes = Buffer.from(payload);
  const header = Buffer.alloc(8);
  header.writeUInt8(stream, 0);
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}

/** An exec that speaks as the wrapper does: it reads the secret, and gets the outputs of the test. */
export function speakAsWrapper(speak: (socket: Socket, say: (words: string, stream?: 1 | 2) => Buffer) => void) {
  return (socket: Socket) => {
    socket.once('data', (chunk: Buffer) => {
      const secret = chunk.toString().split('\n')[0] ?? '';
      speak(socket, (words, stream = 1) => frame(stream, `\x1e${secret} ${words}\n`));
    });
  };
}

async function read(request: IncomingMessage): Promise<FakeRequest> {
  const url = new URL(request.url ?? '/', 'http://engine');
  const [, version, path = url.pathname] = /^\/v([\d.]+)(\/.*)$/.exec(url.pathname) ?? [];
  const parts: Buffer[] = [];
  // The bytes after an upgrade are no body of the request.
  const length = Number(request.headers['content-length'] ?? 0);
  if (request.headers.upgrade === undefined && (length > 0 || request.headers['transfer-encoding'] !== undefined)) {
    for await (const chunk of request) parts.push(chunk as Buffer);
  }
  const body = Buffer.concat(parts).toString('latin1');
  return { method: request.method ?? '', path, query: url.searchParams, version, body };
}

function reply(answer: FakeAnswer, response: ServerResponse): void {
  if (answer === 'silence') return;
  if (answer === 'drop' || 'upgraded' in answer) {
    response.socket?.destroy();
  } else if ('json' in answer) {
    const status = answer.status ?? 200;
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(status === 204 ? undefined : JSON.stringify(answer.json));
  } else {
    response.writeHead(200, answer.headers);
    for (const piece of answer.pieces) response.write(piece);
    response.end();
  }
}

function upgrade(answer: FakeAnswer, socket: Socket): void {
  if (answer === 'silence') return;
  if (typeof answer === 'object' && 'upgraded' in answer) {
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
    answer.upgraded(socket);
  } else if (typeof answer === 'object' && 'json' in answer) {
    const text = JSON.stringify(answer.json);
    socket.end(`HTTP/1.1 ${answer.status ?? 200} NO\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  } else socket.destroy();
}

function usual({ method, path }: FakeRequest): FakeAnswer {
  if (path === '/version') return { json: VERSION };
  if (path === '/info') return { json: INFO };
  if (path === '/containers/create') return { json: { Id: ID }, status: 201 };
  if (path.endsWith('/wait')) return 'silence';
  if (path.endsWith('/start') || path.endsWith('/kill') || method === 'DELETE') return { json: null, status: 204 };
  if (path.startsWith('/images/')) return { json: { Id: `sha256:${ID}`, RepoDigests: [], Config: { User: '' } } };
  if (path === `/containers/${ID}/json`)
    return { json: { State: { Running: true, ExitCode: 0, StartedAt: new Date().toISOString() } } };
  if (path.endsWith('/exec')) return { json: { Id: 'exec' }, status: 201 };
  if (path === '/exec/exec/json') return { json: { Running: false, ExitCode: 0 } };
  if (path.endsWith('/archive') && method === 'PUT') return { json: null };
  return { json: { message: `no such thing: ${path}` }, status: 404 };
}
