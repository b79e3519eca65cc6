import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ApiError } from '../contract/errors.ts';
import { MAX_INPUT_DEPTH } from '../contract/json-depth.ts';

const gunzipBytes = promisify(gunzip);

/** Contract section 0: the limit of a request body unless a server says otherwise. */
export const DEFAULT_BODY_LIMIT_BYTES = 4 * 1024 * 1024;

/**
 * Reads a request's body: JSON in UTF-8, and forms where they are accepted.
 *
 * @returns undefined for an empty body. @throws ApiError request_too_large, unsupported_media_type, invalid_json, and
 *   invalid_parameter for JSON that is nested too deep.
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

/** Each piece takes a turn of the event loop, which may have other work. */
const UNZIPPED_AT_ONCE_BYTES = 1_024 * 1_024;

/** @throws ApiError request_too_large, before more than the limit is in memory; invalid_json for what is no gzip. */
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
 * The bytes of a body, of routes and of MCP alike. Not `for await`: leaving that loop destroys the request, and the reply
 * with it. `endReply` discards what is not read. Not an async function: a tool call would wait a turn more.
 *
 * @throws ApiError request_too_large; invalid_json where the connection ends.
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
      // After a whole body too, where an error that nobody reads would cost as much as the parser.
      if (!request.complete) reject(new ApiError('invalid_json', 'The connection ended inside the body.'));
    });
  });
}

function tooLarge(limitBytes: number): ApiError {
  return new ApiError('request_too_large', `The body is larger than the limit of ${limitBytes} bytes of this server.`);
}

/** One for all: to make one takes longer than to read a small body by it. */
export const UTF_8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Uint8Array): string {
  try {
    return UTF_8.decode(bytes);
  } catch (cause) {
    throw new ApiError('invalid_json', 'The body is not UTF-8; send JSON in UTF-8.', { cause });
  }
}

/**
 * Reads JSON of a client.
 *
 * @param what it is, for messages. @throws ApiError invalid_json, and invalid_parameter where it is nested too deep.
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

/** By the brackets outside of strings, so that nothing recurses before the depth is known. */
function isNestedDeeper(text: string, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at += 1;
      while (at < text.length && text.charCodeAt(at) !== 0x22) at += text.charCodeAt(at) === 0x5c ? 2 : 1;
    } else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return false;
}
