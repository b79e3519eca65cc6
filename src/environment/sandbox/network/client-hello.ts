/** Bytes that are read of the beginning of a TLS connection. A ClientHello with its extensions is far smaller. */
export const MAX_HELLO_BYTES = 64 * 1024;

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;

/** `more`: the beginning is not whole yet. `none`: it is no TLS, or names no host. */
export type ServerName = { readonly name: string } | 'more' | 'none';

/**
 * Reads the host that a TLS client asks for (SNI, RFC 6066 section 3) out of the first bytes of its connection. A
 * ClientHello may be spread over records; a client that encrypts it names the outer host.
 */
export function readServerName(bytes: Buffer): ServerName {
  const handshake = joinRecords(bytes);
  if (handshake === 'more' || handshake === 'none') return handshake;
  if (handshake.length === 0) return 'more';
  const reader = new Reader(handshake);
  if (reader.number(1) !== CLIENT_HELLO) return 'none';
  const length = reader.number(3);
  if (length === undefined) return 'more';
  if (length > MAX_HELLO_BYTES) return 'none';
  if (handshake.length < 4 + length) return 'more';
  const hello = new Reader(handshake.subarray(4, 4 + length));
  hello.take(2 + 32); // Version and random.
  for (const lengthBytes of [1, 2, 1]) hello.vector(lengthBytes); // Session id, cipher suites, compression methods.
  const extensions = hello.vector(2);
  return extensions === undefined ? 'none' : serverNameOf(new Reader(extensions));
}

function serverNameOf(extensions: Reader): ServerName {
  for (let type = extensions.number(2); type !== undefined; type = extensions.number(2)) {
    const content = extensions.vector(2);
    if (content === undefined) return 'none';
    if (type !== SERVER_NAME) continue;
    const names = new Reader(new Reader(content).vector(2) ?? Buffer.alloc(0));
    if (names.number(1) !== HOST_NAME) return 'none';
    const name = names.vector(2);
    return name === undefined || name.length === 0 ? 'none' : { name: name.toString('latin1') };
  }
  return 'none';
}

/** The content of the handshake records at the beginning. */
function joinRecords(bytes: Buffer): Buffer | 'more' | 'none' {
  const parts: Buffer[] = [];
  const reader = new Reader(bytes);
  for (;;) {
    const type = reader.number(1);
    if (type === undefined) break;
    if (type !== HANDSHAKE) return parts.length === 0 ? 'none' : Buffer.concat(parts);
    reader.take(2); // Version of the record.
    const length = reader.number(2);
    if (length === undefined) break;
    const content = reader.take(length);
    parts.push(content ?? reader.rest());
    if (content === undefined) break;
  }
  return parts.length === 0 ? 'more' : Buffer.concat(parts);
}

/** Reads numbers and vectors of TLS in order. All give undefined beyond the end. */
class Reader {
  #at = 0;

  constructor(readonly bytes: Buffer) {}

  take(length: number): Buffer | undefined {
    if (this.#at + length > this.bytes.length) return undefined;
    this.#at += length;
    return this.bytes.subarray(this.#at - length, this.#at);
  }

  number(length: number): number | undefined {
    return this.take(length)?.readUIntBE(0, length);
  }

  vector(lengthBytes: number): Buffer | undefined {
    const length = this.number(lengthBytes);
    return length === undefined ? undefined : this.take(length);
  }

  rest(): Buffer {
    return this.bytes.subarray(this.#at);
  }
}
