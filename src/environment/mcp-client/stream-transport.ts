import type { Duplex } from 'node:stream';
import { type JSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { messageOf } from '../../contract/errors.ts';
import { LineSplitter } from '../../support/runtime/line-splitter.ts';
import { MAX_MESSAGE_LENGTH } from '../process/environment-process.ts';
import { parseMessage } from '../process/parse-message.ts';
import { type Link, toLink } from './link.ts';

/** Connects to a server over a stream, such as a socket. Each line is one message, as on standard input and output. */
export function openStream(stream: Duplex): Link {
  const transport = new StreamTransport(stream);
  const link = toLink(transport, () => transport.close());
  return { ...link, status: () => transport.status, ending: () => transport.status };
}

class StreamTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #stream: Duplex;
  #state: 'open' | 'closing' | { readonly ended: string } = 'open';

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on('error', (error) => this.#end(`broke the connection (${messageOf(error)})`));
    stream.on('close', () => this.#end('closed the connection'));
  }

  /** The way in which the other end ended the connection. Undefined while it is open, and if this end closed it. */
  get status(): string | undefined {
    return typeof this.#state === 'string' ? undefined : this.#state.ended;
  }

  async start(): Promise<void> {
    const splitter = new LineSplitter(MAX_MESSAGE_LENGTH, (line, isCut) => {
      if (isCut) this.#end(`sent a message of more than ${MAX_MESSAGE_LENGTH / 1024 / 1024} MiB`);
      else if (line.trim() !== '') this.#receive(line);
    });
    this.#stream.setEncoding('utf8');
    this.#stream.on('data', (text: string) => splitter.push(text));
    // A server that has ended its side of the stream can no longer answer.
    this.#stream.once('end', () => this.#end('closed the connection'));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#stream.writable) throw new Error('The connection takes no more messages');
    await new Promise<void>((resolve, reject) => {
      this.#stream.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  async close(): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#stream.end(() => this.#stream.destroy());
    this.onclose?.();
  }

  #receive(line: string): void {
    const message = parseMessage(line);
    if (message === undefined) this.onerror?.(new Error(`Not a message of the protocol: ${line.slice(0, 1_000)}`));
    else this.onmessage?.(message);
  }

  #end(ended: string): void {
    if (this.#state !== 'open') return;
    this.#state = { ended };
    this.#stream.destroy();
    this.onclose?.();
  }
}
