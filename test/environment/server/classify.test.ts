import type { IncomingMessage } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { classifyInboundRequest, isJSONRPCRequest } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { classify } from '../../../src/environment/server/http/posted-message.ts';
import { isPlainRequest } from '../../../src/environment/server/json-rpc.ts';
import { call, INITIALIZE, modernCall, mutated, write } from './hostile-messages.ts';
import { Random } from './random.ts';

const MESSAGES = 2_000;
const VERSIONS = [undefined, '2025-11-25', '2025-03-26', '2026-07-28', ' 2026-07-28 ', '2099-01-01', '1999-01-01', 'x'];

/** Messages as they come over the wire, of which some have nothing wrong. */
function* messages(): Generator<{ readonly random: Random; readonly body: unknown }> {
  for (let index = 0; index < MESSAGES; index += 1) {
    const random = new Random(index);
    const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE };
    const message = random.pick([call(random), modernCall(random), initialize]);
    yield { random, body: JSON.parse(write(random.chance(0.3) ? message : mutated(random, message))) };
  }
}

test('what is taken for a request without asking its schema is one by its schema', () => {
  let plain = 0;
  const wrong: string[] = [];
  for (const { body } of messages()) {
    if (!isPlainRequest(body)) continue;
    plain += 1;
    if (!isJSONRPCRequest(body)) wrong.push(JSON.stringify(body));
  }
  expect(wrong).toEqual([]);
  expect(plain).toBeGreaterThan(MESSAGES / 3);
});

test('a message belongs to the era that the SDK says, whatever its headers are', () => {
  const kinds = new Set<string>();
  const wrong: string[] = [];
  for (const { random, body } of messages()) {
    const method = (body as { readonly method?: unknown }).method;
    const protocolVersionHeader = random.pick(VERSIONS);
    const mcpMethodHeader = random.pick([undefined, 'tools/call', typeof method === 'string' ? method : 'x']);
    const headers = { 'mcp-protocol-version': protocolVersionHeader, 'mcp-method': mcpMethodHeader };
    const asked = {
      ...(protocolVersionHeader === undefined ? {} : { protocolVersionHeader }),
      ...(mcpMethodHeader === undefined ? {} : { mcpMethodHeader }),
    };
    const expected = classifyInboundRequest({ httpMethod: 'POST', ...asked, body });
    const found = classify({ headers } as unknown as IncomingMessage, body);
    kinds.add(found.kind);
    // Which header a request of a session named is of no interest: the session has a revision.
    const { requestedVersion: _version, ...route } = expected as { requestedVersion?: string };
    const { requestedVersion: _found, ...own } = found as { requestedVersion?: string };
    if (!isDeepStrictEqual(own, route)) wrong.push(JSON.stringify({ headers, body, own, route }));
  }
  expect(wrong).toEqual([]);
  expect([...kinds].sort()).toEqual(['legacy', 'modern', 'reject']);
});
