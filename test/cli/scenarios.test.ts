import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { svcSchema } from '../../src/contract/session.ts';
import { isRunning } from '../environment/client/processes.ts';
import { serveHttp } from '../environment/server/clients.ts';
import { freePort } from '../free-port.ts';
import createDesk from '../service/chat/fixtures/desk.ts';
import { openParts } from '../service/runs/service.ts';
import { type Reply, send } from '../support/http/http-server.ts';
import { until } from '../until.ts';
import { createProject, PATIENCE, proctor, type Running, start, takenPort } from './command.ts';
import { environmentsOf } from './processes.ts';

const startedSchema = z.object({ url: z.string(), address: z.string(), environments: z.array(z.string()) });

interface Started extends z.infer<typeof startedSchema> {
  readonly command: Running;
  readonly port: number;
}

async function scenarios(
  cwd: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Started> {
  const port = await freePort();
  const command = start(['scenarios', '--port', String(port), '--json', ...args], { cwd, env });
  const [line] = await command.prints(/^\{.*\}$/m);
  return { command, ...startedSchema.parse(JSON.parse(line)), port };
}

function chat(url: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return send(url, '/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Go.' }], ...body }),
  });
}

const COUNTING = { scenario: 'count_to', scenario_args: { target: 2 } } as const;
const svcOf = ({ json }: Reply) => svcSchema.parse((json as { svc: unknown }).svc);

describe('proctor scenarios', PATIENCE, () => {
  it('serves the scenarios of its directory, shows their traces to who signs in, and ends with 0 on SIGTERM', async () => {
    const cwd = createProject('counter');
    const { command, url, address, environments, port } = await scenarios(cwd);
    expect([url, environments]).toEqual([`http://127.0.0.1:${port}`, ['counter']]);

    const finished = svcOf(await chat(url, COUNTING));
    const reply = await send(url, `/v1/sessions/${finished.session_id}/finish`, { method: 'POST' });
    expect([reply.status, reply.json]).toMatchObject([200, { reward: 1, status: 'finished' }]);

    expect(finished.trace_url).toBe(`${url}/traces/${finished.trace_id}`);
    const page = new URL(finished.trace_url).pathname;
    expect((await send(url, page)).status).toBe(401);
    const { origin, pathname, search } = new URL(address);
    expect(origin).toBe(url);
    const signedIn = await send(url, `${pathname}${search}`);
    expect(signedIn.status).toBe(303);
    const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? '';
    expect((await send(url, page, { headers: { cookie } })).status).toBe(200);
    const shown = await send(url, `/v1${page}`, { headers: { cookie } });
    expect([shown.status, shown.json]).toMatchObject([200, { scenario_name: 'count_to' }]);

    const active = svcOf(await chat(url, COUNTING));
    const children = environmentsOf(command.process.pid);
    expect(children.length).toBeGreaterThan(0);
    command.process.kill('SIGTERM');
    const { code, signal, stdout } = await command.ended;
    expect([code, signal, stdout.trim().split('\n').length]).toEqual([0, null, 1]);
    expect(children.filter(isRunning)).toEqual([]);
    const { store } = await openParts(`sqlite:${join(cwd, '.proctor', 'proctor.db')}`, onTestFinished);
    expect(await store.trace(active.trace_id)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('shut down') },
    });
  });

  it('serves environments by name, by path and by URL, and asks for the key of its variable', async () => {
    const cwd = createProject('counter');
    const desk = await serveHttp(createDesk);
    const probe = fileURLToPath(new URL('./fixtures/probe', import.meta.url));
    const { url, environments } = await scenarios(cwd, ['counter', '--env', probe, '--env', desk, '--env', 'counter'], {
      PROCTOR_SCENARIOS_API_KEY: 'right',
      PROCTOR_SESSION_TTL_MS: '1',
    });
    expect(environments).toEqual(['counter', 'probe', new URL(desk).host]);
    expect((await send(url, '/scenarios')).status).toBe(401);
    const headers = { authorization: 'Bearer right' };
    const listed = await send(url, '/scenarios', { headers });
    for (const name of ['counter:count_to', 'probe:', 'desk:keep']) expect(listed.text).toContain(name);

    // The variable's time to live: nobody comes back.
    const { session_id } = svcOf(await chat(url, COUNTING, headers));
    const shown = await until(async () => {
      const reply = await send(url, `/v1/sessions/${session_id}`, { headers });
      return !reply.text.includes('"active"') && reply;
    });
    expect(shown.json).toMatchObject({ status: 'expired' });
  });

  it('takes its limits, its key and how many processes wait from the command line', async () => {
    const cwd = createProject('counter');
    const flags = ['--session-ttl-ms', '2147483647', '--max-sessions', '1', '--max-steps', '1', '--warm', '1'];
    const { command, url } = await scenarios(cwd, [...flags, '--api-key', 'right', '--host', 'localhost'], {
      PROCTOR_SCENARIOS_API_KEY: 'another',
    });
    // They wait before anybody has come.
    await until(() => environmentsOf(command.process.pid).length > 0);
    const waiting = environmentsOf(command.process.pid);
    expect((await chat(url, COUNTING, { authorization: 'Bearer another' })).status).toBe(401);
    const headers = { authorization: 'Bearer right' };
    const first = await chat(url, COUNTING, headers);
    expect(svcOf(first)).toMatchObject({ steps: 1, status: 'active' });
    const full = await chat(url, COUNTING, headers);
    expect([full.status, full.text]).toEqual([503, expect.stringContaining('--max-sessions')]);
    // Its time, which is the longest that a timer holds, is not over at once.
    const shown = await send(url, `/v1/sessions/${svcOf(first).session_id}`, { headers });
    expect(shown.json).toMatchObject({ status: 'active' });
    command.process.kill('SIGTERM');
    expect((await command.ended).code).toBe(0);
    expect(waiting.filter(isRunning)).toEqual([]);
  });

  it('refuses what it cannot serve, and says what to do', async () => {
    const cwd = createProject('counter');
    const port = await takenPort();
    const [gateway, host, taken, ttl, long, key, unknown] = await Promise.all([
      proctor(['scenarios', '--model', 'some-model', '--port', '1'], { cwd }),
      proctor(['scenarios', '--host', '0.0.0.0', '--port', port], { cwd }),
      proctor(['scenarios', '--port', port], { cwd }),
      proctor(['scenarios'], { cwd, env: { PROCTOR_SESSION_TTL_MS: 'soon' } }),
      proctor(['scenarios', '--session-ttl-ms', '2147483648'], { cwd }),
      proctor(['scenarios', '--api-key', ''], { cwd }),
      proctor(['scenarios', '--env', 'nothing'], { cwd }),
    ]);
    expect([gateway.code, gateway.stderr]).toEqual([1, expect.stringContaining('PROCTOR_GATEWAY_URL')]);
    expect([host.code, host.stderr]).toEqual([1, expect.stringMatching(/--api-key.*PROCTOR_SCENARIOS_API_KEY/)]);
    const inUse = new RegExp(`^proctor: Port ${port} on 127.0.0.1 is in use.*with --port\\.$`, 'm');
    expect([taken.code, taken.stdout, taken.stderr]).toEqual([1, '', expect.stringMatching(inUse)]);
    expect([ttl.code, ttl.stderr]).toEqual([2, expect.stringMatching(/PROCTOR_SESSION_TTL_MS: .*whole number/)]);
    expect([long.code, long.stderr]).toEqual([2, expect.stringContaining('from 1 to 2147483647')]);
    expect([key.code, key.stderr]).toEqual([2, expect.stringContaining('--api-key')]);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('counter')]);
  });
});
