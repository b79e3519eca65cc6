import { createServer, type Server, type ServerResponse } from 'node:http';
import { EnvironmentServer } from 'proctor';
import { expect, it, onTestFinished } from 'vitest';
import { EnvironmentHost } from '../../../src/environment/server/environment-host.ts';
import { Sessions } from '../../../src/environment/server/http/sessions.ts';
import { EventSource } from './event-source.ts';

it('a session is found by its own caller, era and transport alone', async () => {
  const authority = { harnessKey: undefined, isPeerTrusted: false };
  const host = new EnvironmentHost(() => new EnvironmentServer({ name: 'e' }), { authority, report: () => {} });
  const sessions = new Sessions(host, { maxSessions: 10, idleTimeoutMs: 60_000 });
  onTestFinished(() => sessions.stop());
  onTestFinished(() => host.close(1_000));
  const { id } = sessions.open('legacy', 'ann').session;
  expect(sessions.find(id, 'legacy', 'ann')?.session.id).toBe(id);
  expect([sessions.find(id, 'legacy', 'bob'), sessions.find(id, 'modern', 'ann'), sessions.findSse(id, 'ann')]).toEqual(
    [undefined, undefined, undefined],
  );
  expect(sessions.ofCaller('ann').session.id).toBe(sessions.ofCaller('ann').session.id);
  expect(sessions.ofCaller('ann').session.id).not.toBe(sessions.ofCaller('bob').session.id);
  const response = await openResponse();
  const sse = sessions.openSse('ann', response, (session) => session).session.id;
  expect(sessions.findSse(sse, 'ann')?.session.id).toBe(sse);
  expect([sessions.findSse(sse, 'bob'), sessions.find(sse, 'legacy', 'ann')]).toEqual([undefined, undefined]);
});

/** The server's end of a request that somebody waits for. */
async function openResponse(): Promise<ServerResponse> {
  let server: Server | undefined;
  const response = await new Promise<ServerResponse>((resolve) => {
    server = createServer((_request, opened) => resolve(opened)).listen(0, '127.0.0.1', () => {
      const address = server?.address();
      const port = typeof address === 'object' ? address?.port : undefined;
      EventSource.open(`http://127.0.0.1:${port}/`).catch(() => {}); // It ends without an answer.
    });
  });
  onTestFinished(() => void server?.close().closeAllConnections());
  return response;
}
