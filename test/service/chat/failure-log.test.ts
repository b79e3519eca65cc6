import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { csrfToken } from '../../../src/store/accounts/csrf.ts';
import { createAccounts } from '../../../src/store/accounts/database-accounts.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { calls, delta, frames, json, rawStream } from '../../gateway.ts';
import { until } from '../../until.ts';
import { beginStream, holdRequest, openChat } from './open-chat.ts';
import { counting, framesOf, serve, sessionsOf } from './server.ts';

const KEY = 'sk-live-0123456789abcdef0123456789';

function createLog() {
  const lines = new PassThrough();
  return {
    logger: pino(lines),
    /** What was logged as an error, and everything as text. */
    read() {
      const text = String(lines.read() ?? '');
      const entries = text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { level: number; requestId?: string; code?: string; msg: string });
      return { text, errors: entries.filter(({ level }) => level >= 50) };
    },
  };
}

const streamed = { stream: true, ...counting(1) };

describe('a failure after the first byte of a stream', () => {
  it('is logged with the id of its request, and without the key of the gateway or of the caller', async () => {
    const log = createLog();
    const error = { message: `Quota of ${KEY} is used up.`, code: 500 };
    const gateway = await serve({ plays: [rawStream(frames(delta({ content: 'Half' }), { error }))] });
    const models = createModels({ gatewayUrl: gateway.gateway.url, gatewayApiKey: KEY });
    const server = await serve({ logger: log.logger, models });
    const reply = await server.chat('Go.', streamed, { authorization: `Bearer ${KEY}-of-the-caller` });
    expect(framesOf(reply).at(-1)).toMatchObject({ error: { code: 'model_failed' } });
    const { text, errors } = log.read();
    expect(errors).toMatchObject([
      {
        requestId: reply.headers['x-request-id'],
        code: 'model_failed',
        msg: expect.stringContaining('Quota of [key] is used up'),
      },
    ]);
    expect(text).not.toContain(KEY);
  });

  it('is one line where it is told before the first byte', async () => {
    const log = createLog();
    const server = await serve({ logger: log.logger, plays: [(response) => response.writeHead(400).end('{}')] });
    const reply = await server.chat('Go.', streamed);
    expect(reply.status).toBe(502);
    expect(log.read().errors).toMatchObject([{ requestId: reply.headers['x-request-id'], code: 'model_failed' }]);
  });

  it('is logged for the playground, too', async () => {
    const log = createLog();
    const database = await openDatabase('sqlite::memory:');
    onTestFinished(() => database.close());
    const accounts = createAccounts(database);
    const server = await serve({
      logger: log.logger,
      database,
      accounts,
      plays: [calls(['increment', {}]), json(400, {})],
    });
    const { session } = await accounts.createBrowserSession('local');
    const headers = { cookie: `proctor_session=${session}`, 'x-csrf-token': csrfToken(session) };
    const body = { ...streamed, messages: [{ role: 'user', content: 'Go.' }], stream_options: { svc_events: true } };
    const reply = await server.post('/v1/chat/completions', body, headers);
    expect(framesOf(reply).at(-1)).toMatchObject({ error: { code: 'model_failed' } });
    const { text, errors } = log.read();
    expect(errors).toMatchObject([{ requestId: reply.headers['x-request-id'], code: 'model_failed' }]);
    expect(text).not.toContain(session);
  });

  it('is none where the client went away, or the server shuts down', async () => {
    const log = createLog();
    const [left, cut] = [holdRequest(), holdRequest()];
    const server = await serve({ logger: log.logger, plays: [left.play, cut.play], shutdownGraceMs: 1_000 });
    const body = { messages: [{ role: 'user', content: 'Go.' }], ...streamed };
    const first = openChat(server.url, body);
    beginStream(await left.asked, 'Half');
    await first.heard('Half');
    first.leave();
    await left.dropped;
    await until(async () => sessionsOf(await server.get('/v1/sessions')).length === 0);
    const second = openChat(server.url, body);
    beginStream(await cut.asked, 'Half');
    await second.heard('Half');
    await server.server.close();
    await second.ended;
    expect(second.text).toContain('"code":"shutting_down"');
    expect(log.read().errors).toEqual([]);
  });
});
