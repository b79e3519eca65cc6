import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../../src/support/http/listen.ts';
import { endReply } from '../../../src/support/http/reply/end-reply.ts';
import { serveHttp } from '../../environment/server/clients.ts';
import { createExam } from '../../environment/server/exam.ts';
import { serve } from '../../service/chat/server.ts';
import { startService } from '../../service/runs/service.ts';
import { sendLarge } from './large-body.ts';

/** Pieces of 256 KiB: 8 MiB, twice the limit of a server. */
const PIECES = 32;

type Target = { readonly url: string; readonly key?: string };

const SERVERS: readonly (readonly [name: string, status: number, open: () => Promise<Target>])[] = [
  [
    'the run service',
    413,
    async () => {
      const { url, key } = await startService({ worker: false });
      return { url: `${url}/v1/agent/run`, key };
    },
  ],
  [
    'the run service, without a key,',
    401,
    async () => ({ url: `${(await startService({ worker: false })).url}/v1/agent/run` }),
  ],
  ['the scenario server', 413, async () => ({ url: `${(await serve()).url}/v1/chat/completions` })],
  ['the scenario server, at a path that does not exist,', 404, async () => ({ url: `${(await serve()).url}/v1/nope` })],
  ['the MCP endpoint of the scenario server', 413, async () => ({ url: `${(await serve()).url}/mcp` })],
  ['an environment server', 413, async () => ({ url: await serveHttp(createExam()) })],
  [
    'an environment server, at a path that does not exist,',
    404,
    async () => ({ url: new URL('/nope', await serveHttp(createExam())).href }),
  ],
];

describe.each(SERVERS)('a body over the limit, sent to %s', (_name, status, open) => {
  it.each([
    ['with its size declared', false],
    ['in chunks', true],
  ])(`is answered ${status} to a client that reads nothing before it has sent all, %s`, async (_how, isChunked) => {
    const target = await open();
    for (let round = 0; round < 10; round += 1) {
      const ending = await sendLarge(target.url, { ...target, pieces: PIECES, isChunked });
      expect(ending).toEqual({ status, error: undefined });
    }
  });

  it('is read on after the reply', async () => {
    const target = await open();
    // In chunks the limit is over after the first half: the reply comes while the second is still to be sent.
    for (const isChunked of [false, true]) {
      const ending = await sendLarge(target.url, { ...target, pieces: PIECES + 4, isChunked, waitsForReply: true });
      expect(ending).toEqual({ status, error: undefined });
    }
  });
});

describe('a reply to a body that does not end', () => {
  it('closes its connection after so many bytes', async () => {
    const listener = await listen(
      (_request, response) => {
        response.writeHead(413, { 'content-length': 2 });
        endReply(response, 'No', { bytes: 1024 * 1024, milliseconds: 600_000 });
      },
      { host: '127.0.0.1', port: 0 },
    );
    onTestFinished(() => listener.close());
    const { status, error } = await sendLarge(listener.url, { pieces: 4_000 });
    expect(status).toBe(413);
    expect(error).toMatch(/EPIPE|ECONNRESET/);
  });

  it('closes its connection after so much time', async () => {
    const listener = await listen(
      (_request, response) => {
        response.writeHead(413, { 'content-length': 2 });
        endReply(response, 'No', { bytes: 1024 * 1024, milliseconds: 50 });
      },
      { host: '127.0.0.1', port: 0 },
    );
    onTestFinished(() => listener.close());
    const socket = connect(listener.port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nbegun');
    let text = '';
    for await (const piece of socket.setEncoding('latin1')) text += piece;
    expect(text).toMatch(/^HTTP\/1\.1 413 .*No$/s);
  });
});
