import { BAD_HEADERS, BROKEN_HEADS, EVENT_IDS, FOREIGN, type Headers, SESSION_IDS } from './hostile-heads.ts';
import { call, garbage, INITIALIZE, modernCall, mutated, write } from './hostile-messages.ts';
import type { Random } from './random.ts';

/** What a client sends that means no good, and what a server may make of it. */
export interface HostileRequest {
  readonly kind: string;
  readonly bytes: Buffer;
  /** Those that each of the answers may have. */
  readonly statuses: readonly number[];
  /** How many have to come; undefined where nobody can tell: any number. */
  readonly answers: number | undefined;
  /** What follows: it reads its answers, closes its side and reads, waits for a first event and leaves, or leaves at once. */
  readonly ending: 'read' | 'half-close' | 'glimpse' | 'vanish';
  readonly isHead?: boolean;
}

/** Sessions that are open: one of 2025-11-25, and one of a revision that has batches. */
export interface OpenSessions {
  readonly current: string;
  readonly batching: string;
}

const ANY_STATUS = [200, 202, 204, 400, 403, 404, 405, 406, 413, 415, 503];
/** Of what is well framed, and comes from where it may. */
const ANSWERED = [200, 202, 400, 404, 503];

interface Parts {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Headers;
  readonly body?: string | Buffer;
}

/** A hostile request of some kind. */
export function hostileRequest(random: Random, sessions: OpenSessions): HostileRequest {
  const [kind, create] = random.pick(KINDS);
  return { kind, statuses: ANSWERED, answers: 1, ending: 'read', ...create(random, sessions) };
}

function http({ method = 'POST', path = '/mcp', headers = {}, body }: Parts): Buffer {
  const content = body === undefined ? undefined : Buffer.from(body);
  const all: Headers = {
    Host: 'localhost',
    Accept: 'application/json, text/event-stream',
    ...(content === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': String(content.length) }),
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => `${name}: ${value}\r\n`),
  );
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
  return content === undefined ? head : Buffer.concat([head, content]);
}

const inSession = (id: string): Headers => ({ 'Mcp-Session-Id': id });
const sessionCall = (random: Random, { current }: OpenSessions, headers: Headers = {}) =>
  http({ headers: { ...inSession(current), ...headers }, body: write(call(random)) });

function modernHeaders({ method, params }: Readonly<Record<string, unknown>>): Headers {
  const { name, uri } = params as { readonly name?: unknown; readonly uri?: unknown };
  const named = name ?? uri;
  return {
    'Mcp-Protocol-Version': '2026-07-28',
    'Mcp-Method': String(method),
    ...(typeof named === 'string' ? { 'Mcp-Name': named } : {}),
  };
}

const CHUNKED = {
  Accept: 'application/json, text/event-stream',
  'Content-Type': 'application/json',
  'Transfer-Encoding': 'chunked',
};

type Kind = (random: Random, sessions: OpenSessions) => Partial<HostileRequest> & { readonly bytes: Buffer };

const KINDS: readonly (readonly [kind: string, create: Kind])[] = [
  ['a call', (random, sessions) => ({ bytes: sessionCall(random, sessions) })],
  [
    'a message with what does not belong there',
    (random, { current }) => ({
      bytes: http({ headers: inSession(current), body: write(mutated(random, call(random))) }),
    }),
  ],
  [
    'an initialize with what does not belong there',
    (random) => {
      const message = { jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE };
      return { bytes: http({ body: write(mutated(random, message)) }) };
    },
  ],
  [
    'a message of 2026-07-28 with what does not belong there',
    (random) => {
      const message = modernCall(random);
      return { bytes: http({ headers: modernHeaders(message), body: write(mutated(random, message)) }) };
    },
  ],
  [
    'a message of 2026-07-28 with other headers',
    (random) => {
      const message = modernCall(random);
      const headers = { ...modernHeaders(message), ...(random.chance(0.7) ? random.pick(BAD_HEADERS) : {}) };
      return { bytes: http({ headers, body: write(message) }), statuses: [...ANSWERED, 406, 415] };
    },
  ],
  [
    'a body that is no message',
    (random, { current }) => ({ bytes: http({ headers: inSession(current), body: garbage(random) }) }),
  ],
  [
    'a batch',
    (random, { current, batching }) => {
      const messages = Array.from({ length: random.below(8) }, () =>
        random.chance(0.5) ? call(random) : mutated(random, random.chance(0.2) ? modernCall(random) : call(random)),
      );
      const id = random.chance(0.8) ? batching : current;
      return { bytes: http({ headers: inSession(id), body: write(messages) }) };
    },
  ],
  [
    'a session that is none',
    (random, sessions) => {
      const headers = { 'Mcp-Session-Id': random.pick(SESSION_IDS) };
      return { bytes: sessionCall(random, sessions, headers), statuses: [400, 404] };
    },
  ],
  [
    'headers that are wrong',
    (random, sessions) => ({
      bytes: sessionCall(random, sessions, random.pick(BAD_HEADERS)),
      statuses: [...ANSWERED, 406, 415],
    }),
  ],
  [
    'a foreign or doubtful Host or Origin',
    (random, sessions) => ({ bytes: sessionCall(random, sessions, random.pick(FOREIGN)), statuses: [403] }),
  ],
  ['broken framing', (random) => ({ bytes: Buffer.from(random.pick(BROKEN_HEADS), 'latin1'), statuses: [400, 403] })],
  [
    'chunks',
    (random, { current }) => {
      const head = http({ headers: { ...CHUNKED, ...inSession(current) } });
      const body = write(call(random));
      const size = Buffer.byteLength(body).toString(16);
      const whole = `${size}\r\n${body}\r\n0\r\n\r\n`;
      const broken = ['zz\r\n\r\n', `${size}\r\n${body}0\r\n\r\n`, `fffffffffffffffff\r\n${body}`, `${size} \r\n\0`];
      const isWhole = random.chance(0.5);
      return {
        bytes: Buffer.concat([head, Buffer.from(isWhole ? whole : random.pick(broken))]),
        statuses: isWhole ? ANSWERED : [400],
        ...(isWhole ? {} : { answers: undefined, ending: 'half-close' }),
      };
    },
  ],
  [
    'a length that is not that of the body',
    (random, { current }) => {
      const body = write(call(random));
      const length = random.chance(0.5) ? Buffer.byteLength(body) + 1 + random.below(9) : random.below(body.length);
      const headers = { ...inSession(current), 'Content-Length': String(length) };
      const ending = random.pick(['half-close', 'vanish'] as const);
      return { bytes: http({ headers, body }), statuses: ANSWERED, answers: undefined, ending };
    },
  ],
  [
    'a body beyond the limit',
    (random, { current }) => {
      const body = write({ ...call(random), params: { a: 'x'.repeat(70_000) } });
      if (random.chance(0.5)) {
        const bytes = http({ headers: inSession(current), body });
        return { bytes, statuses: [413], answers: undefined, ending: 'half-close' };
      }
      const head = http({ headers: { ...CHUNKED, ...inSession(current) } });
      const chunk = Buffer.from(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
      return { bytes: Buffer.concat([head, chunk]), statuses: [413], answers: undefined, ending: 'half-close' };
    },
  ],
  [
    'headers without end',
    (random, sessions) => ({
      bytes: sessionCall(random, sessions, { 'X-Long': 'x'.repeat(17_000 + random.below(20_000)) }),
      statuses: [400],
      answers: undefined,
      ending: 'half-close',
    }),
  ],
  [
    'another method',
    (random, { current }) => {
      const method = random.pick([
        'PUT',
        'PATCH',
        'OPTIONS',
        'TRACE',
        'HEAD',
        'QUERY',
        'DELETE',
        'PROPFIND',
        'M-SEARCH',
      ]);
      const headers = method === 'DELETE' ? inSession('nope') : inSession(current);
      const origin = random.chance(0.5) ? { Origin: 'http://localhost' } : {};
      const bytes = http({ method, headers: { ...headers, ...origin } });
      // QUERY is newer than the parser of Node.js 20.
      return { bytes, statuses: method === 'QUERY' ? [400, 405] : [204, 404, 405], isHead: method === 'HEAD' };
    },
  ],
  [
    'another address',
    (random, sessions) => {
      const paths = ['/', '/mcp/', '//mcp', '/mcp/..', '*', '/mcp?x=%00', '/healthz', '/%2e%2e/etc/passwd', '/MCP'];
      const more = ['http://evil.example/mcp', '/messages', '/messages?session_id=nope', '/svc/tools', '/openapi.json'];
      const path = random.pick([...paths, ...more]);
      const method = random.pick(['GET', 'POST']);
      const body = method === 'POST' ? write(call(random)) : undefined;
      const headers = inSession(sessions.current);
      return {
        bytes: http({ method, path, headers, ...(body === undefined ? {} : { body }) }),
        statuses: ANY_STATUS,
        // `/mcp` with a query is the endpoint itself, whose stream goes on.
        ending: method === 'GET' ? 'glimpse' : 'read',
      };
    },
  ],
  [
    'a stream',
    (random, { current }) => {
      const eventId = random.chance(0.6) ? { 'Last-Event-ID': random.pick(EVENT_IDS) } : {};
      const id = random.chance(0.8) ? current : random.pick(SESSION_IDS);
      const bytes = http({ method: 'GET', headers: { ...inSession(id), ...eventId } });
      return { bytes, statuses: [200, 204, 400, 404], ending: 'glimpse' };
    },
  ],
  [
    'a stream of the deprecated transport',
    () => ({ bytes: http({ method: 'GET', path: '/sse' }), statuses: [200, 503], ending: 'glimpse' }),
  ],
  [
    'a subscription',
    (random) => {
      const notifications = random.pick<unknown>([{ toolsListChanged: true }, {}, { toolsListChanged: 1 }, [], null]);
      const { params } = modernCall(random);
      const message = {
        jsonrpc: '2.0',
        id: random.below(9),
        method: 'subscriptions/listen',
        params: { ...params, notifications, name: undefined, uri: undefined },
      };
      return { bytes: http({ headers: modernHeaders(message), body: write(message) }), ending: 'glimpse' };
    },
  ],
  [
    'many at once on one connection',
    (random, sessions) => {
      const count = 2 + random.below(12);
      const requests = Array.from({ length: count }, () => sessionCall(random, sessions));
      return { bytes: Buffer.concat(requests), answers: count };
    },
  ],
  [
    'a call that nobody waits for',
    (random, { current }) => {
      const _meta = random.chance(0.5) ? { progressToken: 1 } : {};
      const message = { ...call(random), method: 'tools/call', params: { name: 'stuck', arguments: {}, _meta } };
      return {
        bytes: http({ headers: inSession(current), body: write(message) }),
        answers: undefined,
        ending: 'vanish',
      };
    },
  ],
  [
    'bytes',
    (random) => ({
      bytes: random.bytes(1 + random.below(500)),
      statuses: [400],
      answers: undefined,
      ending: 'half-close',
    }),
  ],
  [
    'a request with bytes that have changed',
    (random, sessions) => {
      const bytes = sessionCall(random, sessions);
      for (let count = 1 + random.below(4); count > 0; count -= 1)
        bytes[random.below(bytes.length)] = random.below(256);
      return { bytes, statuses: ANY_STATUS, answers: undefined, ending: 'half-close' };
    },
  ],
];
