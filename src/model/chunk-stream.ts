import type { GatewayClient } from './gateway-client.ts';
import { GatewayFailure } from './gateway-failure.ts';
import { untilAborted } from './until-aborted.ts';

export interface ChunkOptions {
  readonly signal: AbortSignal;
  /** Called whenever anything comes, be it a comment that only keeps the connection alive. */
  onSignOfLife(): void;
}

/**
 * Sends one request and gives its chunks as they come. A gateway that answers one JSON object, or a client that does,
 * gives that as the only chunk. Where the client can hand over the raw reply it is read here, because the client's own
 * stream is empty for a reply that is no event stream.
 *
 * @throws GatewayFailure for a reply that cannot be read; whatever the client throws; the reason of the signal, also
 *   where the client does not listen to it. Nothing is left open then.
 */
export async function* openChunks(client: GatewayClient, body: object, options: ChunkOptions): AsyncGenerator<unknown> {
  const { signal } = options;
  const pending = client.chat.completions.create(body, { signal, maxRetries: 0 });
  const answer = await untilAborted(hasRawReply(pending) ? pending.asResponse() : pending, signal);
  options.onSignOfLife();
  const chunks = isReply(answer) ? readReply(answer, options) : isAsyncIterable(answer) ? answer : [answer];
  if (Array.isArray(chunks)) {
    yield* chunks;
    return;
  }
  const iterator = chunks[Symbol.asyncIterator]();
  let isDone = false;
  try {
    while (!isDone) {
      const next = await untilAborted(iterator.next(), signal);
      isDone = next.done === true;
      if (isDone) return;
      options.onSignOfLife();
      yield next.value;
    }
  } finally {
    // Not awaited: an iterator that hangs would hang here too.
    if (!isDone) Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

/** What is read of a reply of `fetch`; that of openai 4 is another class. */
interface Reply {
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
  text(): Promise<string>;
}

async function* readReply(reply: Reply, options: ChunkOptions): AsyncGenerator<unknown> {
  const type = reply.headers.get('content-type') ?? '';
  if (/\bhtml\b/i.test(type)) {
    const message = `the reply is a web page (${type}): the gateway's URL has to be the base URL of its API, which mostly ends with /v1`;
    throw new GatewayFailure('answered', message);
  }
  if (/\bjson\b/i.test(type)) {
    yield parseChunk(await reply.text());
    return;
  }
  if (reply.body === null) return;
  for await (const data of readEvents(reply.body, options)) {
    // Read on to the end, so that the connection can be used again.
    if (!data.startsWith('[DONE]')) yield parseChunk(data);
  }
}

/** The `data` of each event of an event stream, whatever its name is. */
async function* readEvents(body: AsyncIterable<Uint8Array>, options: ChunkOptions): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let unread = '';
  let data: string[] = [];
  // Lines that belong to no event: JSON of a server that does not say so.
  let stray: string[] | undefined = [];
  for await (const bytes of body) {
    options.onSignOfLife();
    unread += decoder.decode(bytes, { stream: true });
    // A carriage return at the end may be half of a line break.
    const lines = unread.split(/\r\n|\n|\r(?!$)/);
    unread = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(5).trimStart());
      else if (!EVENT_LINE.test(line)) stray?.push(line);
      if (line !== '' || data.length === 0) continue;
      yield data.join('\n');
      data = [];
      stray = undefined;
    }
  }
  if (unread.startsWith('data:')) data.push(unread.slice(5).trim());
  else if (!EVENT_LINE.test(unread)) stray?.push(unread);
  if (data.length > 0) yield data.join('\n');
  else if (stray !== undefined && stray.length > 0) yield stray.join('\n');
}

/** A field of an event, a comment, or the line between two events. */
const EVENT_LINE = /^(?:(?:event|id|retry|data)?:|\s*$)/;

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
