import { connect } from 'node:net';
import type { HostileRequest } from './hostile-requests.ts';
import { AnswerReader, type HttpAnswer } from './http-answers.ts';
import type { Random } from './random.ts';

/** By then everything has been answered, or hangs. */
const LIMIT_MS = 20_000;
/** What no answer may tell: where the server runs, and what only the harness may know. */
const UNTOLD = /node_modules|\.ts:\d|\.js:\d|\n\s+at |S3CRET|\[object /;

/**
 * Sends a request on a connection of its own, whole or in pieces, reads what comes and ends as the request wants it.
 *
 * @throws Error for an answer that HTTP, MCP or this project does not allow, for too few or too many, and for none in time.
 */
export async function exchange(port: number, request: HostileRequest, random: Random): Promise<readonly HttpAnswer[]> {
  const reader = new AnswerReader(request.isHead);
  await converse(port, request, reader, random);
  // A stream that goes on is an answer too.
  const begun = request.ending === 'glimpse' && reader.open !== undefined ? [reader.open] : [];
  const answers = [...reader.answers, ...begun];
  for (const answer of answers) judge(answer, request);
  if (request.answers !== undefined && answers.length !== request.answers) {
    throw new Error(`${answers.length} answers instead of ${request.answers}`);
  }
  return answers;
}

function converse(port: number, request: HostileRequest, reader: AnswerReader, random: Random): Promise<void> {
  const { bytes, ending, answers = Number.POSITIVE_INFINITY } = request;
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    const limit = setTimeout(() => finish(new Error(`Neither an answer nor an end within ${LIMIT_MS} ms`)), LIMIT_MS);
    const finish = (error?: Error) => {
      clearTimeout(limit);
      socket.destroy();
      if (error === undefined) resolve();
      else reject(error);
    };
    socket.setEncoding('latin1').on('data', (text: string) => {
      try {
        reader.take(text);
      } catch (error) {
        return finish(error as Error);
      }
      const isSeen = ending === 'glimpse' && (reader.answers.length > 0 || reader.open !== undefined);
      if (isSeen || reader.answers.length >= answers) finish();
    });
    socket.on('end', () => {
      reader.end();
      finish();
    });
    // A server may refuse what it has not read to the end: what is on its way then is lost, its answer too.
    socket.on('error', () => finish());
    socket.on('close', () => finish());
    const afterwards = () => {
      if (ending === 'half-close') socket.end();
      // Some leave when the call runs, some before it has come.
      else if (ending === 'vanish') random.chance(0.5) ? finish() : setTimeout(finish, random.below(10));
    };
    const pieces = random.chance(0.2) ? cut(bytes, random) : [bytes];
    const send = (index: number) => {
      const piece = pieces[index];
      if (socket.destroyed) return;
      if (piece === undefined) return afterwards();
      socket.write(piece, () => (pieces.length === 1 ? send(index + 1) : setTimeout(send, random.below(3), index + 1)));
    };
    send(0);
  });
}

function cut(bytes: Buffer, random: Random): readonly Buffer[] {
  const places = Array.from({ length: 1 + random.below(6) }, () => random.below(bytes.length)).sort((a, b) => a - b);
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
}

/** @throws Error */
function judge(answer: HttpAnswer, { statuses }: HostileRequest): void {
  const { status, headers, body } = answer;
  const refuse = (what: string) => new Error(`${what}: ${status} ${JSON.stringify(body.slice(0, 300))}`);
  if (!statuses.includes(status)) throw refuse(`Not one of ${statuses.join(', ')}`);
  if (!/^req_[0-9a-f]{32}$/.test(headers.get('x-request-id') ?? '')) throw refuse('No request id');
  if (UNTOLD.test(body)) throw refuse('It tells what nobody should know');
  const type = headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) judgeEvents(answer, refuse);
  else if (body === '' || type.startsWith('text/plain')) judgeEmpty(answer, refuse);
  else if (type.startsWith('application/json')) judgeJson(JSON.parse(body), status, refuse);
  else if (!type.startsWith('text/html')) throw refuse(`Of the type ${JSON.stringify(type)}`);
}

type Refuse = (what: string) => Error;

function judgeEmpty({ status, headers }: HttpAnswer, refuse: Refuse): void {
  const isOfHead = headers.get('content-length') !== undefined;
  if (status !== 202 && status !== 204 && !isOfHead) throw refuse('An answer without a body');
}

function judgeEvents({ status, body, isWhole }: HttpAnswer, refuse: Refuse): void {
  if (status !== 200) throw refuse('A stream that is no 200');
  const events = body.split('\n\n');
  if (isWhole && events.at(-1) !== '') throw refuse('An event that does not end');
  for (const event of events.slice(0, -1)) {
    const lines = event.split('\n');
    if (!lines.every((line) => /^(?:(?:id|event|data|retry): |: )/.test(line))) throw refuse('Not an event');
    const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
    if (lines.includes('event: message')) judgeMessage(JSON.parse(data.join('\n')), refuse);
  }
}

function judgeJson(value: unknown, status: number, refuse: Refuse): void {
  if (Array.isArray(value)) {
    if (status !== 200 || value.length === 0) throw refuse('A batch that is none');
    for (const message of value) judgeMessage(message, refuse);
    return;
  }
  const { jsonrpc, error } = value as { readonly jsonrpc?: unknown; readonly error?: object };
  if (jsonrpc !== undefined) judgeMessage(value as object, refuse);
  // Beside MCP errors have the shape of our own API.
  else if (status >= 400 && Object.keys(error ?? {}).join() !== 'message,type,param,code') throw refuse('Not an error');
}

function judgeMessage(message: object, refuse: Refuse): void {
  const { jsonrpc, id, result, error, method } = message as Readonly<Record<string, unknown>>;
  if (jsonrpc !== '2.0') throw refuse('Not a message');
  if (method !== undefined) return;
  const isId = typeof id === 'string' || typeof id === 'number' || (id === null && error !== undefined);
  if (!isId) throw refuse('A reply to nobody');
  if ((result === undefined) === (error === undefined)) throw refuse('Neither a result nor an error, or both');
  if (error === undefined) return;
  const { code, message: text } = error as { readonly code?: unknown; readonly message?: unknown };
  if (!Number.isInteger(code) || typeof text !== 'string' || text === '') throw refuse('Not an error');
  if (code === -32_603) throw refuse('An internal error');
}
