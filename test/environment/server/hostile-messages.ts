import type { Random } from './random.ts';

type Members = Record<string, unknown>;

/** Stands for `__proto__`, which a literal would set instead of naming it. */
const PROTO = 'PROTO';
const deep = (levels: number, open: string, close: string) => open.repeat(levels) + close.repeat(levels);

export const INITIALIZE: Members = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'fuzz', version: '1' },
};
const ENVELOPE: Members = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'fuzz', version: '1' },
};

/** Calls that every server answers at once. */
const CALLS: readonly Members[] = [
  { method: 'tools/call', params: { name: 'echo', arguments: { a: 1, b: ['x', null] } } },
  { method: 'tools/call', params: { name: 'add', arguments: { a: 2 } } },
  { method: 'tools/call', params: { name: 'steps', arguments: {}, _meta: { progressToken: 'p' } } },
  { method: 'tools/call', params: { name: 'setup', arguments: { name: 'count', arguments: {} } } },
  { method: 'tools/list', params: {} },
  { method: 'resources/read', params: { uri: 'fuzzed://note' } },
  { method: 'resources/list' },
  { method: 'prompts/list' },
  { method: 'prompts/get', params: { name: 'count', arguments: {} } },
  {
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'count' }, argument: { name: 'a', value: '' } },
  },
  { method: 'ping' },
  { method: 'logging/setLevel', params: { level: 'error' } },
];

/** What stands where something else should. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  '',
  'x'.repeat(5_000),
  '\ud800',
  '\u0000',
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  'file:///etc/passwd',
  '2026-07-28',
  'harness',
  [],
  [[]],
  [null, {}, []],
  {},
  { [PROTO]: { isAdmin: true } },
  { constructor: { prototype: { x: 1 } } },
  { toJSON: 'x', length: -1 },
];
const NAMES = [
  PROTO,
  'constructor',
  'toJSON',
  'then',
  'id',
  'method',
  'result',
  'error',
  '_meta',
  'params',
  'progressToken',
  'svc/audience',
  'svc/session_id',
  'svc/harness_key',
  'svc/related_request',
  'requestState',
  'inputResponses',
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/related-task',
  '',
];
const METHODS = [
  'tools/nope',
  'initialize',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'server/discover',
  'resources/subscribe',
  'resources/templates/list',
  'tasks/get',
  'sampling/createMessage',
  '__proto__',
  '',
  'rpc.discover',
  'TOOLS/CALL',
];

export function call(random: Random): Members {
  return { jsonrpc: '2.0', id: random.below(1_000_000), ...structuredClone(random.pick(CALLS)) };
}

/** The same of 2026-07-28, which says in each request who asks. */
export function modernCall(random: Random): Members & { readonly params: Members } {
  const message = call(random);
  const params = message.params as Members | undefined;
  return { ...message, params: { ...params, _meta: { ...structuredClone(ENVELOPE), ...(params?._meta as Members) } } };
}

/** A message with one to three things in it that do not belong there. */
export function mutated(random: Random, message: Members): Members {
  const copy = structuredClone(message);
  for (let count = 1 + random.below(3); count > 0; count -= 1) mutate(random, copy);
  return copy;
}

/** As it goes over the wire. */
export function write(message: unknown): string {
  return JSON.stringify(message).replaceAll(`"${PROTO}"`, '"__proto__"');
}

/** What is no message at all, or no JSON, or no text. */
export function garbage(random: Random): Buffer {
  const texts = [
    '',
    ' ',
    '{',
    '[',
    'null',
    'true',
    '"x"',
    '1e400',
    'NaN',
    '[]',
    '{}',
    '[[]]',
    '[{}]',
    '\ufeff{}',
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","id":1}',
    "{'jsonrpc':'2.0'}",
    '{"jsonrpc":"2.0","id":1e400,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":"ping",}',
    '{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"tools/list"}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"__proto__":{"progressToken":1}}}}',
    '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"ping"}}',
    deep(100, '[', ']'),
    deep(30_000, '[', ']'),
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":${deep(10_000, '{"a":', '').slice(0, -1)}`,
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${deep(5_000, '[', ']')}}}`,
    `[${'{"jsonrpc":"2.0","id":1,"method":"ping"},'.repeat(150)}{}]`,
    '{"jsonrpc":"2.0","id":9,"result":{}}',
    '{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"x"}}',
    '{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}',
  ];
  if (random.chance(0.15)) return random.bytes(1 + random.below(300));
  const text = Buffer.from(random.chance(0.1) ? write(call(random)) : random.pick(texts));
  // Bytes that are no UTF-8, inside of a string or not.
  if (random.chance(0.2) && text.length > 0) text[random.below(text.length)] = 0x80 + random.below(128);
  return random.chance(0.1) ? text.subarray(0, random.below(text.length + 1)) : text;
}

function mutate(random: Random, root: Members): void {
  let at = root;
  // Down to an object inside, some way.
  for (let levels = random.below(4); levels > 0; levels -= 1) {
    const inner = Object.values(at).filter((value): value is Members => typeof value === 'object' && value !== null);
    if (inner.length > 0) at = random.pick(inner);
  }
  const keys = Object.keys(at);
  const kind = random.next();
  if (kind < 0.1) root.method = random.pick(METHODS);
  else if (kind < 0.25 && keys.length > 0) delete at[random.pick(keys)];
  else if (kind < 0.5) at[random.pick(NAMES)] = structuredClone(random.pick(VALUES));
  else if (keys.length > 0) at[random.pick(keys)] = structuredClone(random.pick(VALUES));
}
