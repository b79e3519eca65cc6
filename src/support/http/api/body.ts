import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ApiError } from '../../../contract/errors.ts';
import { isNestedDeeper, MAX_INPUT_DEPTH } from '../../../contract/json-depth.ts';

const gunzipBytes = promisify(gunzip);

/** Default limit of a request body (contract section 0). */
export const DEFAULT_BODY_LIMIT_BYTES = 4 * 1024 * 1024;

/**
 * Reads a request's body: JSON in UTF-8, and forms where they are accepted.
 *
 * @returns undefined for an empty body. @throws ApiError request_too_large, unsupported_media_type, invalid_json, and
 * invalid_parameter for JSON that is nested too deep.
 */
export async function readBody(request: IncomingMessage, options: BodyOptions): Promise<unknown> {
  const { headers } = request;
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return undefined;
  const mediaType = checkedMediaType(request, options);
  const sent = await readBytes(request, options.limitBytes);
  const text = decode(isGzip(request) ? await unzip(sent, options.limitBytes) : sent);
  if (text.trim() === '') return undefined;
  return mediaType === FORM ? Object.fromEntries(new URLSearchParams(text)) : parseJson(text);
}

export interface BodyOptions {
  readonly limitBytes: number;
  readonly acceptForms: boolean;
  readonly acceptGzip?: boolean;
}

const FORM = 'application/x-www-form-urlencoded';

function isGzip({ headers }: IncomingMessage): boolean {
  return headers['content-encoding']?.toLowerCase() === 'gzip';
}

/** Size of one piece. Between two pieces the event loop can do other work. */
const UNZIPPED_AT_ONCE_BYTES = 1_024 * 1_024;

/** @throws ApiError request_too_large before more than the limit is in memory; invalid_json for invalid gzip. */
async function unzip(bytes: Uint8Array, limitBytes: number): Promise<Uint8Array> {
  try {
    return await gunzipBytes(bytes, { maxOutputLength: limitBytes, chunkSize: UNZIPPED_AT_ONCE_BYTES });
  } catch (cause) {
    if ((cause as { readonly code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(limitBytes);
    throw new ApiError('invalid_json', 'The body is declared as gzip, and is none.', { cause });
  }
}

function checkedMediaType(request: IncomingMessage, { acceptForms, acceptGzip = false }: BodyOptions): string {
  const encoding = request.headers['content-encoding'];
  const isPlain = encoding === undefined || encoding.toLowerCase() === 'identity';
  if (!isPlain && !(acceptGzip && isGzip(request))) {
    throw unsupported(`The body is encoded as ${JSON.stringify(encoding)}`, acceptForms);
  }
  const declared = request.headers['content-type'] ?? 'application/json';
  const [mediaType = '', ...parameters] = declared.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  const isUtf8 = charset === undefined || /^"?utf-?8"?$/.test(charset);
  const isAccepted = /^application\/(?:[\w.!#$&^-]+\+)?json$/.test(mediaType) || (acceptForms && mediaType === FORM);
  if (!isUtf8 || !isAccepted) throw unsupported(`The body is declared as ${JSON.stringify(declared)}`, acceptForms);
  return mediaType;
}

function unsupported(problem: string, acceptForms: boolean): ApiError {
  const forms = acceptForms ? `, or a form ("content-type: ${FORM}")` : '';
  return new ApiError(
    'unsupported_media_type',
    `${problem}; send plain JSON in UTF-8 with "content-type: application/json"${forms}.`,
  );
}

/**
 * Reads the bytes of a body, for routes and MCP. It does not use `for await`, because leaving that loop destroys the
 * request and its reply. `endReply` discards unread bytes. It is not an async function, because that would delay a tool
 * call by one turn.
 *
 * @throws ApiError request_too_large; invalid_json when the connection ends early.
 */
export function readBytes(request: IncomingMessage, limitBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const refuse = () => reject(tooLarge(limitBytes));
    if (Number(request.headers['content-length'] ?? 0) > limitBytes) return refuse();
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limitBytes) chunks.push(chunk);
      else {
        chunks.length = 0;
        refuse();
      }
    });
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('error', reject);
    request.once('close', () => {
      // The event also comes after a complete body. Creating an unused error there would cost as much as parsing.
      if (!request.complete) reject(new ApiError('invalid_json', 'The connection ended inside the body.'));
    });
  });
}

/**
 * A body as it comes. The request stays whole when its reader stops, for the reply.
 *
 * @throws ApiError request_too_large, before more than the limit is given; invalid_json where the connection ends.
 */
export async function* readPieces(request: IncomingMessage, limitBytes: number): AsyncGenerator<Uint8Array, void> {
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes);
  try {
    yield* withinLimit(request.iterator({ destroyOnReturn: false }), limitBytes);
  } catch (cause) {
    if (cause instanceof ApiError || request.complete) throw cause;
    throw new ApiError('invalid_json', 'The connection ended inside the body.', { cause });
  }
}

/** @throws ApiError request_too_large */
export async function* withinLimit(
  pieces: AsyncIterable<Uint8Array>,
  limitBytes: number,
): AsyncGenerator<Uint8Array, void> {
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > limitBytes) throw tooLarge(limitBytes);
    yield piece;
  }
}

function tooLarge(limitBytes: number): ApiError {
  return new ApiError('request_too_large', `The body is larger than the limit of ${limitBytes} bytes of this server.`);
}

/** One shared decoder: creating one takes longer than decoding a small body. */
export const UTF_8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Uint8Array): string {
  try {
    return UTF_8.decode(bytes);
  } catch (cause) {
    throw new ApiError('invalid_json', 'The body is not UTF-8; send JSON in UTF-8.', { cause });
  }
}

/**
 * Parses JSON of a client.
 *
 * @param what name of the text in messages. @throws ApiError invalid_json, and invalid_parameter for JSON that is
 * nested
 * too deep.
 */
export function parseJson(text: string, what = 'body'): unknown {
  if (isNestedDeeper(text, MAX_INPUT_DEPTH)) {
    throw new ApiError(
      'invalid_parameter',
      `The ${what} is nested deeper than ${MAX_INPUT_DEPTH} levels; send flatter JSON.`,
    );
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.replace(/\s+/g, ' ') : 'unknown reason';
    throw new ApiError('invalid_json', `The ${what} is not JSON: ${reason}.`, { cause });
  }
}
