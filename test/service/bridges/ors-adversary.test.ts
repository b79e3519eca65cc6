import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { send } from '../../support/http/http-server.ts';
import { serveOrs } from './ors-server.ts';

const TASK = { task_spec: { door: 'blue' } };

/** Everything here that belongs to the harness holds `KEY-OF-THE-EXAM`. */
function createVault() {
  return inMemory(() => {
    const env = new EnvironmentServer({ name: 'vault', version: '1.0.0', sessionsPerProcess: 1_000 });
    env.tool('look', { description: 'Looks.' }, () => 'a door');
    env.mount(new Hub('harness', { audience: 'harness' }).tool('peek', {}, () => 'KEY-OF-THE-EXAM'));
    env.scenario(
      'open_it',
      {
        args: z.object({ door: z.string() }),
        tasks: [{ id: 'KEY-OF-THE-EXAM', args: { door: 'blue' }, tags: ['KEY-OF-THE-EXAM'] }],
        solution: () => ({ calls: [], answer: 'KEY-OF-THE-EXAM' }),
      },
      async function* () {
        const answer: unknown = yield 'Open the door.';
        const isOpen = answer === 'KEY-OF-THE-EXAM';
        return { reward: isOpen ? 1 : 0.5, content: 'KEY-OF-THE-EXAM', info: { wanted: 'KEY-OF-THE-EXAM' } };
      },
    );
    env.scenario('other', {}, async function* () {
      yield 'Anything.';
      return 1;
    });
    return env;
  });
}

async function serveVault(options: Parameters<typeof serveOrs>[0] = {}) {
  return await serveOrs({ environments: new Map([['vault', createVault()]]), ...options });
}

describe('an ORS server', () => {
  it('shows nothing of the harness at any path, tool or field of an answer, graded ones too', async () => {
    const { client } = await serveVault();
    const sid = await client.create(TASK);
    const said: string[] = [];
    const names = ['setup', 'evaluate', 'solution', 'harness', 'resources', 'prompts', 'mcp', 'svc://tasks/open_it'];
    for (const name of names) {
      const paths = [`/${name}`, `/open_it/${name}`, `/open_it/${name}/open_it`, `/open_it/..%2f${name}`];
      for (const path of paths) {
        for (const reply of [await client.get(path, sid), await client.post(path, { name: 'open_it' }, sid)]) {
          expect([308, 400, 404], path).toContain(reply.status);
          said.push(reply.text);
        }
      }
    }
    for (const name of [...names, 'peek', 'harness.peek', 'harness/peek', 'constructor', '']) {
      const { result } = await client.call(sid, name, { name: 'peek', arguments: {} }, 'open_it');
      expect(result, name).toMatchObject({ ok: false });
      said.push(JSON.stringify(result));
    }
    for (const path of ['/open_it/prompt', '/open_it/tools', '/open_it/task_tools', '/openapi.json', '/metrics']) {
      said.push((await client.get(path, sid)).text);
    }
    for (const path of ['tasks', 'num_tasks', 'task', 'task_range']) {
      const asked = { split: 'train', ...(path === 'task' ? { index: 0 } : {}) };
      said.push((await client.post(`/open_it/${path}`, asked)).text);
    }
    const end = await client.call(sid, 'submit_answer', { answer: 'KEY-OF-ANOTHER' }, 'open_it');
    expect(end.result).toMatchObject({ ok: true, output: { reward: 0.5, finished: true, metadata: null } });
    said.push(JSON.stringify(end));
    expect(said.filter((text) => text.includes('KEY-OF-THE-EXAM'))).toEqual([]);
  });

  it('plays a session at its own environment alone, and knows no id that it has not heard of', async () => {
    const { client } = await serveVault();
    const sid = await client.create({ env_name: 'other', task_spec: {} });
    const elsewhere = [
      await client.get('/open_it/prompt', sid),
      await client.get('/open_it/task_tools', sid),
      await client.post('/open_it/call', { name: 'look', input: {} }, sid),
    ];
    for (const { status, json } of elsewhere) {
      expect([status, json]).toEqual([400, { detail: expect.stringContaining('plays other, not open_it') }]);
    }
    expect((await client.get('/OTHER/prompt', sid)).status).toBe(200);
    const unheard = [sid.toUpperCase(), `${sid} `.repeat(2), '__proto__', '*', `${sid},${sid}`];
    for (const id of unheard) expect((await client.get('/other/prompt', id)).status, id).toBe(404);
    const long = await client.get('/other/prompt', 'a'.repeat(201));
    expect([long.status, long.json]).toEqual([400, { detail: expect.stringContaining('201 characters') }]);
  });

  it('redirects within itself alone, and nobody without its key', async () => {
    const { server } = await serveVault({ apiKey: 'key-of-ors' });
    const paths = [
      '//evil.example/x',
      '/\\evil.example',
      '/evil%0d%0aset-cookie:a=b',
      '/@evil.example',
      '/__proto__/tools',
    ];
    for (const path of paths) {
      expect((await send(server.url, path)).status, path).toBe(401);
      const { status, headers } = await send(server.url, path, { headers: { 'x-api-key': 'key-of-ors' } });
      expect([status, headers.location], path).toEqual([308, `/open_it${path}`]);
      expect(new URL(String(headers.location), server.url).origin).toBe(server.url);
    }
  });

  it('keeps keys and secrets of its clients to itself: neither log nor trace has them', async () => {
    const log = new PassThrough();
    const lines: string[] = [];
    log.on('data', (line: Buffer) => lines.push(line.toString()));
    const { client, server, traces } = await serveVault({
      apiKey: 'key-of-ors',
      logger: pino({ level: 'debug' }, log),
    });
    const sid = await client.newId();
    const secrets = { token: 'secret-of-client' };
    const header = Buffer.from(JSON.stringify({ token: { value: 'secret-of-client' } })).toString('base64');
    const created = await send(server.url, '/create', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': 'key-of-ors',
        'x-session-id': sid,
        'x-secrets': header,
      },
      body: JSON.stringify({ ...TASK, secrets }),
    });
    expect(created.status).toBe(200);
    await client.call(sid, 'look', {}, 'open_it');
    await client.call(sid, 'submit_answer', { answer: 'x' }, 'open_it');
    await send(server.url, '/list_environments?key=key-of-ors', { headers: { 'x-api-key': 'key-of-somebody' } });
    const written = JSON.stringify([lines, await traces()]);
    expect(written).toContain('open_it');
    for (const secret of ['secret-of-client', header, 'key-of-ors', 'key-of-somebody', sid]) {
      expect(written).not.toContain(secret);
    }
  });

  it('refuses bodies that are too large, too deep or none, in its own form, and goes on', async () => {
    const { client, server } = await serveVault();
    const sid = await client.create(TASK);
    const post = (body: string, type = 'application/json') =>
      send(server.url, '/open_it/call', {
        method: 'POST',
        headers: { 'content-type': type, 'x-session-id': sid },
        body,
      });
    const deep = `{"name":"look","input":{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}}`;
    const replies = [
      await post(`{"name":"${'a'.repeat(5_000_000)}","input":{}}`),
      await post(deep),
      await post('[1]'),
      await post('{'),
      await post('{"name":"look","input":[]}'),
      await post('{"name":"look","input":{},"more":1}'),
      await post('{}', 'text/plain'),
    ];
    expect(replies.map(({ status }) => status)).toEqual([413, 400, 400, 400, 422, 422, 415]);
    for (const { json } of replies) expect(Object.keys(json as object)).toEqual(['detail']);
    expect((await client.call(sid, 'look', {}, 'open_it')).result).toMatchObject({ ok: true });
  });
});
