import { isJsonObject, type Json } from '../../contract/json.ts';
import type { Redactor } from '../../support/redaction/redactor.ts';
import { once } from '../../support/runtime/once.ts';
import { type Fetch, gatewayFetch } from './gateway-fetch.ts';

/** The part of an `openai` client that is used. Any version, or a compatible client, fits. */
export interface GatewayClient {
  readonly chat: {
    readonly completions: {
      create(body: object, options?: object): PromiseLike<unknown>;
    };
  };
  readonly models?: { list(options?: object): PromiseLike<unknown> };
}

export interface GatewayAddress {
  /** OpenAI's base URL, with its `/v1`. */
  readonly baseUrl: string;
  /** Undefined for a gateway without keys. */
  readonly apiKey?: string | undefined;
  readonly fetch?: Fetch | undefined;
}

/** Placeholder, because the client requires a key. It is not sent. */
const NO_KEY = 'no-key-is-configured';

/**
 * Makes an `openai` client that reads no environment variables, retries nothing and prints nothing. The package is loaded
 * at the first request, since many programs with a gateway ask nothing of it.
 */
export function createGatewayClient(address: GatewayAddress): GatewayClient {
  const client = once(() => loadClient(address));
  return {
    chat: {
      completions: {
        // The response itself: it is read by `readChunks`.
        create: async (body, options) => {
          const { chat } = await client.get();
          // Our own types do not name the fields of a request. The author or the agent chooses them.
          return await chat.completions.create(body as never, options).asResponse();
        },
      },
    },
    models: { list: async (options) => await (await client.get()).models.list(options) },
  };
}

async function loadClient(address: GatewayAddress) {
  const { OpenAI } = await import('openai');
  return new OpenAI({
    baseURL: address.baseUrl,
    apiKey: address.apiKey ?? NO_KEY,
    ...(address.apiKey === undefined ? { defaultHeaders: { authorization: null } } : {}),
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    logLevel: 'off',
    fetch: withReadableErrors(address.fetch ?? gatewayFetch),
  });
}

/** Wraps a client so that its requests contain no known secret. */
export function redactingClient(redactor: Redactor, client: GatewayClient): GatewayClient {
  const { completions } = client.chat;
  const create: typeof completions.create = (body, options) => completions.create(redactor.json(body), options);
  const { models } = client;
  return { chat: { completions: { create } }, ...(models && { models }) };
}

/** Converts every error to `{"error": {...}}`, because the client drops other forms. */
export function withReadableErrors(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.ok) return response;
    const headers = new Headers(response.headers);
    headers.delete('content-encoding');
    headers.delete('content-length');
    const location = response.headers.get('location');
    const isMoved = response.status < 400 && location !== null;
    if (isMoved) await response.body?.cancel();
    const error = isMoved
      ? { message: `it has moved to ${location}: give that as its URL` }
      : toErrorObject(await readStart(response));
    const body = JSON.stringify({ error });
    return new Response(body, { status: response.status, statusText: response.statusText, headers });
  };
}

/** Characters of an error that are read. */
const MAX_ERROR_CHARACTERS = 64 * 1024;

async function readStart(response: Response): Promise<string> {
  if (response.body === null) return '';
  let text = '';
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    // Leaving the loop cancels the body.
    if (text.length >= MAX_ERROR_CHARACTERS) break;
  }
  return text.slice(0, MAX_ERROR_CHARACTERS);
}

/** Reads OpenAI's form, Gemini's list of one, a text in place of the object, FastAPI's `detail`, or plain text. */
function toErrorObject(text: string): Json {
  const body = parseJsonOrNone(text);
  const object = Array.isArray(body) ? body[0] : body;
  if (!isJsonObject(object)) return { message: titleOf(text) ?? text.trim() };
  if (isJsonObject(object.error)) return object.error;
  const said = object.error ?? object.detail ?? object.message;
  return { ...object, message: typeof said === 'string' ? said : JSON.stringify(said ?? object) };
}

/** The title of a proxy's error page; undefined for any other text. */
function titleOf(text: string): string | undefined {
  if (!/^\s*<(?:!doctype|html)/i.test(text)) return undefined;
  const title = /<title[^>]*>([^<]*)/i.exec(text)?.[1]?.trim();
  return `a web page${title ? `, ${JSON.stringify(title)}` : ''}`;
}

function parseJsonOrNone(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
