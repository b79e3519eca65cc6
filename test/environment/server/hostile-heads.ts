/** A list is a header that comes more than once, undefined one that does not come. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Names of sessions that there are none of. */
export const SESSION_IDS = [
  '',
  'nope',
  '../../..',
  'x'.repeat(4_000),
  '\x80\xff',
  '00000000-0000-4000-8000-000000000000',
  '__proto__',
];

/** Events that no stream had, and some that one may have had. */
export const EVENT_IDS = ['1-0', '1-1', '0-0', '99-99', '-1--1', '1e3-1', 'x', '', '9'.repeat(200), '\xff', '1-0, 1-0'];

/** Instead of those that a request should have. */
export const BAD_HEADERS: readonly Headers[] = [
  { 'Content-Type': ['application/json', 'application/json'] },
  { 'Content-Type': 'text/plain' },
  { 'Content-Type': 'application/json; charset=utf-16' },
  { 'Content-Type': '\xff' },
  { 'Content-Encoding': 'gzip' },
  { 'Content-Encoding': ['identity', 'br'] },
  { Accept: '' },
  { Accept: ['application/json', 'text/event-stream'] },
  { Accept: 'x'.repeat(8_000) },
  { Accept: `${'a/b;q=0,'.repeat(500)}*/*` },
  { 'Mcp-Session-Id': ['a', 'b'] },
  { 'Mcp-Protocol-Version': ['2025-11-25', '2025-11-25'] },
  { 'Mcp-Protocol-Version': '2026-07-28' },
  { 'Mcp-Protocol-Version': '9999-99-99' },
  { 'Mcp-Protocol-Version': '' },
  { 'Mcp-Method': 'tools/list', 'Mcp-Name': '=?base64?%%%?=' },
  { Authorization: ['Bearer a', 'Bearer b'] },
  { Cookie: ['a=b', 'c=d'], 'X-Forwarded-Host': 'evil.example' },
  { Expect: 'wonders' },
  { Expect: '100-continue' },
  { Upgrade: 'websocket', Connection: 'Upgrade' },
  { Upgrade: 'h2c', Connection: 'Upgrade, HTTP2-Settings', 'HTTP2-Settings': '' },
  Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`X-${index}`, 'x'])),
];

/** Of requests that are not for this server, or not from where they may come, or say two things about that. */
export const FOREIGN: readonly Headers[] = [
  { Host: ['localhost', 'localhost'] },
  { Host: ['localhost', 'evil.example'] },
  { Host: ['evil.example', 'localhost'] },
  { Host: undefined },
  { Host: '' },
  { Host: 'evil.example' },
  { Host: 'localhost@evil.example' },
  { Host: 'localhost:99999999' },
  { Host: 'localhost, localhost' },
  { Host: '\xff' },
  { Origin: 'null' },
  { Origin: '' },
  { Origin: 'https://evil.example' },
  { Origin: ['http://localhost', 'http://localhost'] },
  { Origin: 'http://localhost.evil.example' },
];

/** Heads that end where HTTP ends, after which no server can know what comes next. */
export const BROKEN_HEADS = [
  'nonsense\r\n\r\n',
  'POST\r\n\r\n',
  'POST /mcp\r\n\r\n',
  'POST /mcp HTTP/9.9\r\nHost: localhost\r\n\r\n',
  'POST /mcp HTTP/1.1\r\nHost localhost\r\n\r\n',
  'POST /mcp HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n',
  'POST /mcp HTTP/1.1\r\nHost: localhost\r\nX : y\r\n\r\n',
  'POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n',
  'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n',
  'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1e3\r\n\r\n',
  'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n',
  'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}}',
  'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'post /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
  `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
];
