import { isJsonObject } from '../../contract/json.ts';

const PROBE_LIMIT_MS = 6_000;
const TITLES: ReadonlySet<unknown> = new Set(['Proctor run service', 'Proctor scenario server']);

/** Result of a probe. `description` tells the user what was found. */
export type Probe =
  | { readonly kind: 'proctor' }
  | { readonly kind: 'stranger'; readonly description: string }
  | { readonly kind: 'nothing' };

/** Finds out which server listens at an address, without sending a key or token. */
export async function probeServer(url: string): Promise<Probe> {
  const described = await askServer(`${url}/openapi.json`);
  if (described === undefined) return { kind: 'nothing' };
  const { status, headers, body } = described;
  const info = isJsonObject(body) && isJsonObject(body.info) ? body.info : undefined;
  if (TITLES.has(info?.title)) return { kind: 'proctor' };
  // Beyond loopback, Proctor describes itself only to a request with a key; others get its own 401.
  const error = isJsonObject(body) && isJsonObject(body.error) ? body.error : undefined;
  const isRefusal = status === 401 && error?.code === 'invalid_api_key';
  if (isRefusal && headers.get('x-request-id')?.startsWith('req_')) return { kind: 'proctor' };
  return { kind: 'stranger', description: describeServer(headers, status, info?.title) };
}

export async function isProctor(url: string): Promise<boolean> {
  return (await probeServer(url)).kind === 'proctor';
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if the reply is not JSON. */
  readonly body: unknown;
}

/** Undefined if there was no HTTP reply. */
export async function askServer(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer | undefined> {
  try {
    const reply = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(PROBE_LIMIT_MS) });
    return { status: reply.status, headers: reply.headers, body: await reply.json().catch(() => undefined) };
  } catch {
    return undefined;
  }
}

/** Describes a foreign server: `nginx/1.27`, `"Some API"`, `an HTTP server that answers 404`. */
function describeServer(headers: Headers, status: number, title: unknown): string {
  if (typeof title === 'string') return JSON.stringify(title);
  return headers.get('server') ?? `an HTTP server that answers ${status}`;
}
