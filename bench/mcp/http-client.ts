import { connect, type Socket } from 'node:net';

export interface HttpReply {
  readonly status: number;
  /** Value of a header by its name in lower case. */
  header(name: string): string | undefined;
  readonly body: string;
}

/**
 * Requests over connections that are kept, each written as one text and read without a parser of its own: a client on
 * `node:http` takes more processor time than the servers it should measure.
 */
export class HttpClient {
  readonly #port: number;
  readonly #idle: Connection[] = [];
  readonly #open = new Set<Connection>();

  constructor(port: number) {
    this.#port = port;
  }

  /** `headers` are lines that each end in CRLF. @throws Error where the connection ends before the reply does. */
  async post(path: string, headers: string, body: string): Promise<HttpReply> {
    const connection = this.#idle.pop() ?? this.#connect();
    const length = Buffer.byteLength(body);
    const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${this.#port}\r\n${headers}content-length: ${length}\r\n\r\n`;
    const reply = await connection.send(head + body);
    if (this.#open.has(connection)) this.#idle.push(connection);
    return reply;
  }

  close(): void {
    for (const connection of this.#open) connection.destroy();
  }

  #connect(): Connection {
    const connection = new Connection(this.#port, () => {
      this.#open.delete(connection);
      const at = this.#idle.indexOf(connection);
      if (at >= 0) this.#idle.splice(at, 1);
    });
    this.#open.add(connection);
    return connection;
  }
}

/** One connection, with one request at a time. */
class Connection {
  readonly #socket: Socket;
  #received = '';
  #waiting: { resolve(reply: HttpReply): void; reject(error: Error): void } | undefined;

  constructor(port: number, onClose: () => void) {
    let failure = new Error('The connection has ended');
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true });
    // One character for each byte, so that lengths are those of the wire.
    this.#socket.setEncoding('latin1').on('data', (text: string) => this.#take(text));
    this.#socket.on('error', (error) => {
      failure = error;
    });
    this.#socket.on('close', () => {
      onClose();
      this.#waiting?.reject(failure);
    });
  }

  send(request: string): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(request);
    });
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#received += text;
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#received.slice(0, end + 2);
    const rest = this.#received.slice(end + 4);
    const status = Number(head.slice(9, 12));
    const length = headerOf(head, 'content-length');
    const body = length === undefined && status !== 204 ? unchunked(rest) : wholeOf(rest, Number(length ?? 0));
    if (body === undefined) return;
    this.#received = '';
    const waiting = this.#waiting;
    this.#waiting = undefined;
    const decoded = Buffer.from(body, 'latin1').toString();
    waiting?.resolve({ status, header: (name) => headerOf(head, name), body: decoded });
  }
}

function headerOf(head: string, name: string): string | undefined {
  const start = head.toLowerCase().indexOf(`\r\n${name}:`);
  if (start < 0) return undefined;
  const from = start + name.length + 3;
  return head.slice(from, head.indexOf('\r\n', from)).trim();
}

function wholeOf(rest: string, length: number): string | undefined {
  return rest.length < length ? undefined : rest.slice(0, length);
}

/** Undefined until the last chunk is there. */
function unchunked(rest: string): string | undefined {
  let body = '';
  for (let at = 0; ; ) {
    const line = rest.indexOf('\r\n', at);
    if (line < 0) return undefined;
    const size = Number.parseInt(rest.slice(at, line), 16);
    if (rest.length < line + size + 4) return undefined;
    if (size === 0) return body;
    body += rest.slice(line + 2, line + 2 + size);
    at = line + size + 4;
  }
}
