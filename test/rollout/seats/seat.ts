import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport as TransportV1 } from '@modelcontextprotocol/sdk/shared/transport.js';
import { onTestFinished } from 'vitest';
import { type Seat, seatSchema } from '../../../src/contract/service/seat.ts';
import type { TestService } from '../../service/runs/service.ts';
import type { Reply } from '../../support/http/http-server.ts';

export const COUNT_TO_3 = { env_name: 'counter', scenario_name: 'count_to', scenario_args: { target: 3 } };

export function postSeat(
  service: Pick<TestService, 'request'>,
  body: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  return service.request('/v1/agent/seats', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...COUNT_TO_3, ...body }),
  });
}

export async function openSeat(service: Pick<TestService, 'request'>, body: object = {}): Promise<Seat> {
  const reply = await postSeat(service, body);
  if (reply.status !== 200) throw new Error(`No seat: ${reply.status} ${reply.text}`);
  return seatSchema.parse(reply.json);
}

export function secretOf({ mcp }: Pick<Seat, 'mcp'>): string {
  return String(mcp.headers.Authorization).replace('Bearer ', '');
}

/** The address with the secret in its path, as some agents need it. */
export function addressOf({ mcp }: Pick<Seat, 'mcp'>): string {
  return mcp.url.replace('/mcp', `/r/${secretOf({ mcp })}/mcp`);
}

export type Mode = 'legacy' | 'modern';

/** A client of the SDK of today, in either era, until the test ends. */
export async function sitDown(seat: Pick<Seat, 'mcp'>, mode: Mode = 'legacy', name = 'tester'): Promise<Client> {
  const { url, headers } = seat.mcp;
  const client = new Client(
    { name, version: '1' },
    { versionNegotiation: { mode: mode === 'modern' ? { pin: '2026-07-28' } : 'legacy' } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

/** A client of the SDK's first line, with the secret in the path. */
export async function sitDownV1(seat: Pick<Seat, 'mcp'>): Promise<ClientV1> {
  const client = new ClientV1({ name: 'tester-v1', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(addressOf(seat)));
  await client.connect(transport as TransportV1);
  onTestFinished(() => client.close());
  return client;
}

/** Lists in lists, so many of them. */
export function nested(depth: number): unknown {
  return JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);
}
