import { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';
import { untilAborted } from '../runtime/deadline.ts';
import type { GatewayClient } from './gateway-client.ts';
import { GatewayFailure } from './gateway-failure.ts';

export interface ChunkOptions {
  readonly signal: AbortSignal;
  /** Called whenever anything comes, be it a comment that only keeps the connection alive. */
  onSignOfLife(): void;
  /** Called with each chunk as it comes. What it throws ends the reading. */
  onChunk(chunk: unknown): void;
}

/**
 * Sends one request and reads its chunks to the end. A gateway that answers one JSON object, or a client that does, gives
 * that as the only chunk. Where the client can hand over the raw reply it is read here, because the client's own stream
 * is empty for a reply that is no event stream.
 *
 * @throws GatewayFailure for a reply that cannot be read; whatever the client or `onChunk` throws; the reason of the
 *   signal, also where the client does not listen to it. Nothing is left open then.
 */
export async function readChunks(client: GatewayClient, body: object, options: ChunkOptions): Promise<void> {
  const { signal } = options;
  const pending = client.chat.completions.create(body, { signal, maxRetries: 0 });
  const answer = await untilAborted(hasRawReply(pending) ? pending.asResponse() : pending, signal);
  options.onSignOfLife();
  if (isReply(answer)) await readReply(answer, options);
  else if (isAsyncIterable(answer)) await readEach(answer, options, options.onChunk);
  else options.onChunk(answer);
}

/** Bytes of one response, decompressed: more is no answer of a model, and would only fill the memory. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** Characters of one line: a longer one is no chunk of a response. */
const MAX_LINE_CHARACTERS = 8 * 1024 * 1024;

/** The used part of a `fetch` response; openai 4 has a class of its own. */
interface Reply {
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
  text(): Promise<string>;
}

async function readReply(reply: Reply, options: ChunkOptions): Promise<void> {
  const type = reply.headers.get('content-type') ?? '';
  if (/\bhtml\b/i.test(type)) {
    const message = `the reply is a web page (${type}): the gateway's URL has to be the base URL of its API, which mostly ends with /v1`;
    throw new GatewayFailure('answered', message);
  }
  const take = /\bjson\b/i.test(type) ? wholeJson(options) : chunksOfEvents(options);
  await readBytesOf(reply, options, limitBytes(take.add));
  take.end();
}

/** The body of a reply, piece by piece. @throws as `readChunks` does. */
export async function readBytesOf(
  reply: Reply,
  options: Omit<ChunkOptions, 'onChunk'>,
  take: (bytes: Uint8Array) => void,
): Promise<void> {
  if (reply.body instanceof Readable) await readAsItComes(reply.body, options, take);
  else if (reply.body !== null) await readEach(reply.body, options, take);
  else take(new TextEncoder().encode(await untilAborted(reply.text(), options.signal)));
}

interface BodyReader {
  add(bytes: Uint8Array): void;
  end(): void;
}

/** Lines that belong to no event are a chunk where no event comes: JSON of a server that does not say so. */
function chunksOfEvents({ onChunk }: ChunkOptions): BodyReader {
  const decoder = new TextDecoder();
  const strayLines: string[] = [];
  let hasEvent = false;
  let isDone = false;
  const parser = createParser({
    maxBufferSize: MAX_LINE_CHARACTERS,
    onEvent: ({ data }) => {
      hasEvent = true;
      // Read on to the end, so that the connection can be used again; what comes after it is not the response's.
      isDone ||= data.trimStart().startsWith('[DONE]');
      if (!isDone) onChunk(parseChunk(data));
    },
    onError: ({ type, line = '' }) => {
      if (type === 'max-buffer-size-exceeded') {
        throw new GatewayFailure('answered', `the reply has a line of more than ${MAX_LINE_CHARACTERS} characters`);
      }
      if (type === 'unknown-field' && !hasEvent && line.trim() !== '') strayLines.push(line);
    },
  });
  return {
    add: (bytes) => parser.feed(decoder.decode(bytes, { stream: true })),
    end: () => {
      // An event that nothing follows counts too.
      parser.feed('\n\n');
      if (!hasEvent && strayLines.length > 0) onChunk(parseChunk(strayLines.join('\n')));
    },
  };
}

function wholeJson({ onChunk }: ChunkOptions): BodyReader {
  const pieces: Uint8Array[] = [];
  return {
    add: (bytes) => void pieces.push(bytes),
    end: () => onChunk(parseChunk(Buffer.concat(pieces).toString('utf8'))),
  };
}

function limitBytes(add: (bytes: Uint8Array) => void): (bytes: Uint8Array) => void {
  let size = 0;
  return (bytes) => {
    size += bytes.length;
    if (size > MAX_RESPONSE_BYTES) {
      throw new GatewayFailure('answered', `the response is larger than ${MAX_RESPONSE_BYTES} bytes`);
    }
    add(bytes);
  };
}

/** In the tick in which it comes: an iterator would put several more between the gateway and whoever reads along. */
function readAsItComes(
  body: Readable,
  { signal, onSignOfLife }: Omit<ChunkOptions, 'onChunk'>,
  take: (bytes: Uint8Array) => void,
): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const fail = (cause: unknown) => {
      reject(cause);
      body.destroy();
    };
    const onAbort = () => fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    body.on('close', () => {
      signal.removeEventListener('abort', onAbort);
      if (!body.readableEnded) reject(new GatewayFailure('lost', 'the connection was closed'));
    });
    body.on('end', resolve).on('error', fail);
    body.on('data', (bytes: Uint8Array) => {
      onSignOfLife();
      try {
        take(bytes);
      } catch (thrown) {
        fail(thrown);
      }
    });
    if (signal.aborted) onAbort();
  });
}

async function readEach<Item>(
  items: AsyncIterable<Item>,
  { signal, onSignOfLife }: Omit<ChunkOptions, 'onChunk'>,
  take: (item: Item) => void,
): Promise<void> {
  const iterator = items[Symbol.asyncIterator]();
  let isDone = false;
  try {
    while (!isDone) {
      const next = await untilAborted(iterator.next(), signal);
      onSignOfLife();
      isDone = next.done === true;
      if (!next.done) take(next.value);
    }
  } finally {
    // Not awaited: an iterator that hangs would hang here too.
    if (!isDone) Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

function parseChunk(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new GatewayFailure('lost', 'the reply holds what is not JSON, as if it had been cut', { cause });
  }
}

function hasRawReply(pending: object): pending is { asResponse(): Promise<unknown> } {
  return 'asResponse' in pending && typeof pending.asResponse === 'function';
}

function isReply(answer: unknown): answer is Reply {
  return typeof answer === 'object' && answer !== null && 'headers' in answer && 'body' in answer && 'text' in answer;
}

function isAsyncIterable(answer: unknown): answer is AsyncIterable<unknown> {
  return typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer;
}
