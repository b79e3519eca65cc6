import { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';
import { untilAborted } from '../../support/runtime/deadline.ts';
import { GatewayFailure } from '../gateway-failure.ts';
import { MAX_EVENT_BYTES, MAX_RESPONSE_BYTES } from '../response-limits.ts';
import type { GatewayClient } from './gateway-client.ts';

export interface ChunkOptions {
  readonly signal: AbortSignal;
  /** Called for any data, even a comment that only keeps the connection alive. */
  onSignOfLife(): void;
  /** Called with each chunk. An error that it throws ends the reading. */
  onChunk(chunk: unknown): void;
}

/**
 * Sends one request and reads its chunks to the end. A single JSON object counts as the only chunk. If the client can
 * give the raw reply, it is read here, because the client's own stream is empty for a reply that is no event stream.
 *
 * @throws GatewayFailure for a reply that cannot be read; the error of the client or of `onChunk`; the signal's reason,
 *   even if the client ignores the signal. Nothing is left open then.
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

/** The part of a `fetch` response that is used, because openai 4 has its own class for it. */
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

/** Reads the body of a reply piece by piece. @throws as `readChunks` does. */
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

/** Reads events. If no event comes, other lines are one chunk: the JSON of a server without a content type. */
function chunksOfEvents({ onChunk }: ChunkOptions): BodyReader {
  const decoder = new TextDecoder();
  const strayLines: string[] = [];
  let hasEvent = false;
  let isDone = false;
  const parser = createParser({
    maxBufferSize: MAX_EVENT_BYTES,
    onEvent: ({ data }) => {
      hasEvent = true;
      // Read to the end, so that the connection can be reused. Data after `[DONE]` is ignored.
      isDone ||= data.trimStart().startsWith('[DONE]');
      if (!isDone) onChunk(parseChunk(data));
    },
    onError: ({ type, line = '' }) => {
      if (type === 'max-buffer-size-exceeded') {
        throw new GatewayFailure('answered', `the reply has a line of more than ${MAX_EVENT_BYTES} characters`);
      }
      if (type === 'unknown-field' && !hasEvent && line.trim() !== '') strayLines.push(line);
    },
  });
  return {
    add: (bytes) => parser.feed(decoder.decode(bytes, { stream: true })),
    end: () => {
      // The last event counts even without an empty line after it.
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

/** Passes the pieces of one response on, up to the size limit. @throws GatewayFailure */
export function limitBytes(add: (bytes: Uint8Array) => void): (bytes: Uint8Array) => void {
  let size = 0;
  return (bytes) => {
    size += bytes.length;
    if (size > MAX_RESPONSE_BYTES) {
      throw new GatewayFailure('answered', `the response is larger than ${MAX_RESPONSE_BYTES} bytes`);
    }
    add(bytes);
  };
}

/** Reads in the same tick in which data arrives. An iterator would delay each piece by several ticks. */
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
    // Not awaited, because a hanging iterator would block here, too.
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
