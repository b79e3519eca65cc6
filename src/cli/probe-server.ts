import { isJsonObject } from '../contract/json.ts';

const PROBE_LIMIT_MS = 6_000;
const TITLES: ReadonlySet<unknown> = new Set(['Proctor run service', 'Proctor scenario server']);

/** A server that answered, or not: `description` says what is there, for a person. */
export type Probe =
  | { readonly kind: 'proctor' }
  | { readonly kind: 'stranger'; readonly description: string }
  | { readonly kind: 'nothing' };

/** Finds out who listens at an address. It is sent no key and no token. */
export async function probeServer(url: string): Promise<Probe> {
  const described = await askServer(`${url}/openapi.json`);
  if (described === undefined) return { kind: 'nothing' };
  const { status, headers, body } = described;
  const info = isJsonObject(body) && isJsonObject(body.info) ? body.info : undefined;
  if (TITLES.has(info?.title)) return { kind: 'proctor' };
  // Bound beyond loopback, Proctor describes itself to those who show a key alone, and refuses others in its own way.
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
  /** Undefined where the answer is no JSON. */
  readonly body: unknown;
}

/** Undefined where no HTTP answer came. */
export async function askServer(url: string): Promise<Answer | undefined> {
  try {
    const reply = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(PROBE_LIMIT_MS) });
    return { status: reply.status, headers: reply.headers, body: await reply.json().catch(() => undefined) };
  } catch {
    return undefined;
  }
}

/** `nginx/1.27`, `"Some API"`, `an HTTP server that answers 404` */
function describeServer(headers: Headers, status: number, title: unknown): string {
  if (typeof title === 'string') return JSON.stringify(title);
  return headers.get('server') ?? `an HTTP server that answers ${status}`;
}
