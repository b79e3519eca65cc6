import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { messageOf } from '../../contract/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../contract/json.ts';
import { withDeadline } from '../../support/runtime/deadline.ts';
import { ProviderAway, ProviderRefused } from './provider.ts';

export interface ProviderAddress {
  /** Name of the trainer in the configuration, for messages. */
  readonly name: string;
  /** Base URL without a trailing slash. */
  readonly url: string;
  readonly apiKey: string | undefined;
}

export interface ProviderRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** A path after the base URL, or a full URL from the provider. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly json?: JsonObject;
  readonly form?: Form;
  /** Path of a file that is sent as the raw body. */
  readonly file?: string;
  /** Further statuses whose reply is returned instead of thrown. */
  readonly allowed?: readonly number[];
  readonly signal: AbortSignal;
}

/** A form with one file. */
export interface Form {
  readonly fields: Readonly<Record<string, string>>;
  readonly file: { readonly path: string; readonly name: string };
}

export interface ProviderReply {
  readonly status: number;
  readonly headers: Headers;
  /** The reply as an object; empty when it is not a JSON object. */
  readonly body: JsonObject;
}

const REQUEST_MS = 60_000;
/** Milliseconds for an upload. 512 MB at one megabit per second take more than an hour. */
const UPLOAD_MS = 90 * 60_000;
const MAX_REPLY_BYTES = 16 * 1024 * 1024;
/** Largest number of characters of a provider's message that are passed on. */
const MAX_SAID = 1_000;

/**
 * Sends one request to a provider.
 *
 * @throws ProviderAway when the provider does not answer, cannot answer now (408, 429, 5xx), or refuses the key, which
 * can be
 * corrected while the job runs. ProviderRefused with the provider's message for any other refusal; the reason of the
 * signal.
 */
export async function askProvider(address: ProviderAddress, request: ProviderRequest): Promise<ProviderReply> {
  const { signal } = request;
  const ms = request.form === undefined && request.file === undefined ? REQUEST_MS : UPLOAD_MS;
  const label = `${address.name} (${request.method} ${shownPath(request.path)})`;
  const reply = await withDeadline((within) => send(address, request, within), {
    ms,
    signal,
    toError: (limit) => new ProviderAway(`${label} did not answer within ${limit}.`),
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof ProviderAway || error instanceof ProviderRefused) throw error;
    throw new ProviderAway(`${label} cannot be reached: ${clean(address, causeOf(error))}.`, { cause: error });
  });
  const { status } = reply;
  if ((status >= 200 && status < 300) || request.allowed?.includes(status)) return reply;
  const said = clean(address, saidBy(reply.body)) || `HTTP ${status}`;
  if (status === 401 || status === 403) {
    throw new ProviderAway(`${label} refuses the key (${said}): set apiKey of this trainer in the configuration.`);
  }
  if (status === 408 || status === 409 || status === 429 || status >= 500) {
    throw new ProviderAway(`${label} answered ${status}: ${said}.`, { retryAfterMs: retryAfter(reply.headers) });
  }
  if (status >= 300 && status < 400) {
    throw new ProviderRefused('provider_refused', `${label} has moved: give its new address as url of this trainer.`);
  }
  const param = isJsonObject(reply.body.error) ? reply.body.error.param : undefined;
  const field = typeof param === 'string' ? ` (${clean(address, param)})` : '';
  throw new ProviderRefused('provider_refused', `${address.name} refused it${field}: ${said}`);
}

async function send(address: ProviderAddress, request: ProviderRequest, signal: AbortSignal): Promise<ProviderReply> {
  const url = toUrl(address, request);
  const isOwn = url.href.startsWith(`${address.url}/`);
  const headers: Record<string, string> = { accept: 'application/json' };
  // A signed URL of another host must not get the key.
  if (isOwn && address.apiKey !== undefined) headers.authorization = `Bearer ${address.apiKey}`;
  const body = await toBody(request, headers);
  const init = { method: request.method, headers, redirect: 'manual', signal, ...body } as const;
  const response = await fetch(url, init);
  return { status: response.status, headers: response.headers, body: await readJson(response) };
}

function toUrl({ url }: ProviderAddress, { path, query = {} }: ProviderRequest): URL {
  const target = new URL(/^https?:\/\//.test(path) ? path : `${url}${path}`);
  for (const [name, value] of Object.entries(query)) target.searchParams.append(name, value);
  return target;
}

async function toBody({ json, form, file }: ProviderRequest, headers: Record<string, string>): Promise<object> {
  if (json !== undefined) {
    headers['content-type'] = 'application/json';
    return { body: JSON.stringify(json) };
  }
  if (file !== undefined) {
    headers['content-type'] = 'application/octet-stream';
    headers['content-length'] = String((await stat(file)).size);
    return { body: Readable.toWeb(createReadStream(file)), duplex: 'half' };
  }
  if (form === undefined) return {};
  const boundary = `proctor-${crypto.randomUUID()}`;
  const fields = Object.entries(form.fields).map(([name, value]) =>
    part(boundary, `name="${name}"`, `\r\n${value}\r\n`),
  );
  const head = part(boundary, `name="file"; filename="${form.file.name}"`, 'Content-Type: application/jsonl\r\n\r\n');
  const before = Buffer.from(`${fields.join('')}${head}`);
  const after = Buffer.from(`\r\n--${boundary}--\r\n`);
  headers['content-type'] = `multipart/form-data; boundary=${boundary}`;
  headers['content-length'] = String(before.length + (await stat(form.file.path)).size + after.length);
  return { body: Readable.toWeb(Readable.from(pieces(before, form.file.path, after))), duplex: 'half' };
}

function part(boundary: string, disposition: string, rest: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${rest}`;
}

/** Streams the file, which may have hundreds of megabytes. */
async function* pieces(before: Buffer, path: string, after: Buffer): AsyncGenerator<Buffer> {
  yield before;
  yield* createReadStream(path) as AsyncIterable<Buffer>;
  yield after;
}

async function readJson(response: Response): Promise<JsonObject> {
  if (response.body === null) return {};
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > MAX_REPLY_BYTES) throw new Error(`its reply is longer than ${MAX_REPLY_BYTES} bytes`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const value = parseJson(text);
  if (isJsonObject(value)) return value;
  if (response.ok && text.trim() !== '') return { text };
  return { message: /^\s*</.test(text) ? 'a web page' : text.slice(0, MAX_SAID) };
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The error message in a reply: OpenAI's form, `{message}` of Fireworks and Google, `detail` of FastAPI, or a plain
 * text.
 */
function saidBy(body: JsonObject): string {
  const error = body.error ?? body;
  const said = isJsonObject(error) ? (error.message ?? error.detail) : error;
  if (typeof said === 'string') return said;
  return said === undefined ? '' : JSON.stringify(said);
}

function clean({ apiKey }: ProviderAddress, text: string): string {
  const without = apiKey === undefined ? text : text.replaceAll(apiKey, '***');
  return without.replaceAll(/\s+/g, ' ').trim().replace(/\.$/, '').slice(0, MAX_SAID);
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return messageOf(error);
  return cause.message || ('code' in cause ? String(cause.code) : messageOf(error));
}

function retryAfter(headers: Headers): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, 3_600) * 1_000 : undefined;
}

/** The path or host without its query, which may contain a signature. */
function shownPath(path: string): string {
  return path.replace(/^https?:\/\/([^/?]+).*$/, '$1').replace(/\?.*$/, '');
}
