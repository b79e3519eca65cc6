import { execFile, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { createServiceClient } from 'proctor/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { createWebhook } from '../../docs/examples/webhook.ts';
import { createProject, PATIENCE, start } from '../cli/command.ts';
import { freePort } from '../free-port.ts';
import { send } from '../support/http/http-server.ts';
import { ROOT, read } from './documents.ts';

/** A run service with these environments, and the key of its first start. */
async function serve(...environments: Parameters<typeof createProject>) {
  const cwd = createProject(...environments);
  const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
  const service = start(['serve', ...ports, '--json'], { cwd });
  const [line] = await service.prints(/^\{.*\}$/m);
  const { url } = z.object({ url: z.string() }).parse(JSON.parse(line));
  return { url, key: readFileSync(join(cwd, '.proctor', 'key'), 'utf8').trim() };
}

/** Runs the nightly example to its end. */
async function nightly(url: string, key: string, ...more: readonly string[]) {
  const script = join(ROOT, 'docs/examples/nightly.ts');
  const program = promisify(execFile)(process.execPath, ['--import', 'tsx', script, url, ...more], {
    cwd: ROOT,
    env: { ...process.env, PROCTOR_API_KEY: key },
  });
  return await program.then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { readonly code: number; readonly stdout: string }) => ({ code, stdout }),
  );
}

describe('the examples of docs/ci.md', PATIENCE, () => {
  it('nightly.ts plays its tasks on a service, ends with 1 below its reward, and a second try finds the same runs', async () => {
    const { url, key } = await serve('retail');
    const first = await nightly(url, key);
    expect([first.code, first.stdout]).toEqual([0, expect.stringMatching(/^(1 {2}http\S+\n){3}mean reward 1\n$/)]);
    const second = await nightly(url, key);
    expect(second.stdout).toBe(first.stdout);
    const idle = await nightly(url, key, 'proctor/noop', '0.9');
    expect([idle.code, idle.stdout]).toEqual([1, expect.stringContaining('mean reward 0')]);
  });

  it('nightly.yml runs that program with the arguments that it takes', () => {
    const workflow = z
      .object({
        jobs: z.object({ rewards: z.object({ steps: z.array(z.looseObject({ run: z.string().optional() })) }) }),
      })
      .parse(parse(read('docs/examples/nightly.yml')));
    const commands = workflow.jobs.rewards.steps.flatMap(({ run }) => run ?? []);
    expect(commands.at(-1)).toMatch(/^npx tsx nightly\.ts https:\/\/\S+ \S+ 0\.\d+$/);
  });

  it('webhook.ts runs what was announced, once for each announcement, and refuses what nobody signed', async () => {
    const { url, key } = await serve('counter');
    const base = await listen(createWebhook(createServiceClient({ baseUrl: url, apiKey: key }), 'webhook-secret'));
    const announce = (body: string, secret: string, delivery = 'one') =>
      send(base, '/deployed', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-github-delivery': delivery,
          'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
        },
        body,
      });
    const body = JSON.stringify({ model: 'proctor/oracle', version: 'v2' });
    expect((await announce(body, 'another-secret')).status).toBe(401);
    const answered = await announce(body, 'webhook-secret');
    expect([answered.status, answered.json]).toMatchObject([200, { status: 'completed', reward: 1 }]);
    const { trace_id } = z.object({ trace_id: z.string() }).parse(answered.json);
    const again = await announce(body, 'webhook-secret');
    expect(again.json).toMatchObject({ trace_id });
    const unknown = await announce(JSON.stringify({ model: 'gpt-5', version: 'v3' }), 'webhook-secret', 'two');
    expect([unknown.status, unknown.text]).toEqual([422, expect.stringContaining('PROCTOR_GATEWAY_URL')]);
  });

  it('webhook.ts answers what it cannot read with JSON, without a stack and a path of the machine', async () => {
    const secret = 'webhook-secret';
    const away = createServiceClient({ baseUrl: `http://127.0.0.1:${await freePort()}`, apiKey: 'key' });
    const base = await listen(createWebhook(away, secret));
    const post = async (body: string | undefined, headers: Record<string, string> = {}) => {
      const signature = `sha256=${createHmac('sha256', secret)
        .update(body ?? '')
        .digest('hex')}`;
      const signed = { 'x-hub-signature-256': signature, ...headers };
      const {
        status,
        text: reply,
        json,
      } = await send(base, '/deployed', {
        method: 'POST',
        headers: signed,
        ...(body === undefined ? {} : { body }),
      });
      expect(json).toEqual({ error: expect.any(String) });
      expect(reply).not.toMatch(/node_modules|\.ts|at \//);
      return status;
    };
    expect(await post(undefined, { 'x-hub-signature-256': '' })).toBe(401);
    expect(await postNothing(base)).toMatch(/^HTTP\/1\.1 401 .*\{"error":"[^"]+"\}$/s);
    expect(await post('no json')).toBe(400);
    expect(await post('null')).toBe(400);
    expect(await post('{"model":1,"version":"v2"}')).toBe(400);
    expect(await post('x'.repeat(300_000))).toBe(413);
    expect(await post('{"model":"proctor/oracle","version":"v2"}')).toBe(503);
    const read = await send(base, '/runs/xx');
    expect([read.status, read.json]).toEqual([404, { error: expect.any(String) }]);
  });

  it('serve-webhook.ts listens on loopback, and not without a secret', async () => {
    const example = join(ROOT, 'docs/examples/serve-webhook.ts');
    const { WEBHOOK_SECRET: _, ...env } = process.env;
    const run = (more: NodeJS.ProcessEnv) =>
      spawn(process.execPath, ['--import', 'tsx', example], { cwd: ROOT, env: { ...env, ...more } });
    const refused = run({});
    onTestFinished(() => void refused.kill());
    expect(await new Promise((resolve) => refused.once('exit', resolve))).toBe(1);
    const server = run({ WEBHOOK_SECRET: 'webhook-secret', PORT: '0' });
    onTestFinished(() => void server.kill());
    let said = '';
    for await (const bytes of server.stdout) {
      said += bytes;
      if (said.includes('}')) break;
    }
    const port = /port: (\d+)/.exec(said)?.[1];
    expect((await send(`http://127.0.0.1:${port}`, '/deployed', { method: 'POST' })).status).toBe(401);
  });
});

/** What curl sends for `-X POST` alone: neither a body nor a word about its length. The whole reply. */
async function postNothing(base: string): Promise<string> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  socket.write(`POST /deployed HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`);
  return await text(socket);
}

/** A server of the application, until the test ends. */
async function listen(app: RequestListener): Promise<string> {
  const server = createServer(app);
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${port}`;
}
