import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { freePort } from '../free-port.ts';
import { PATIENCE, proctor, start } from './command.ts';
import { serve } from './serve.ts';

const listSchema = z.object({ data: z.array(z.object({ status: z.string(), trace_url: z.string() })) });

async function tracesOf(directory: string) {
  const { stdout } = await proctor(['traces', 'list', '--json'], { cwd: directory });
  return listSchema.parse(JSON.parse(stdout)).data;
}

describe('proctor run --service', PATIENCE, () => {
  it('plays at the service: its steps and its reward are shown here, its trace is kept there', async () => {
    const { directory, url, at } = await serve();
    const args = ['run', 'counter', 'count_to', '--arg', 'target=3', '-n', '3', '--min-reward', '1', '--service', url];
    const { code, stdout, stderr } = await proctor(args, at);
    expect([code, stdout]).toEqual([0, 'mean reward 1.00 [0.44, 1.00] (95 % interval); 3 of 3 runs have a reward\n']);
    expect(stderr).toContain('#2 step 1 increment {"by":3}');
    expect(stderr).toMatch(new RegExp(`^#3 reward 1 {2}${url}/traces/[0-9a-f]{32}$`, 'm'));
    expect(existsSync(join(at.cwd, '.proctor'))).toBe(false);
    expect(await tracesOf(directory)).toMatchObject(Array(3).fill({ status: 'completed' }));
  });

  it('takes the key of the first start where it is asked for a service of this directory', async () => {
    const { directory, url } = await serve();
    const args = ['run', 'counter', 'count_to', '--arg', 'target=1', '--quiet', '--service', `${url}/`];
    expect(await proctor(args, { cwd: directory })).toMatchObject({ code: 0, stdout: 'reward 1\n' });
  });

  it('takes the key of the database that is configured here', async () => {
    const env = { PROCTOR_DATABASE_URL: 'sqlite:other.db' };
    const { directory, url } = await serve(env);
    const args = ['run', 'counter', 'count_to', '--arg', 'target=1', '--quiet', '--service', url];
    expect(await proctor(args, { cwd: directory, env })).toMatchObject({ code: 0, stdout: 'reward 1\n' });
    const { code, stderr } = await proctor(args, { cwd: directory });
    expect([code, stderr]).toEqual([2, expect.stringContaining('there is none in .proctor/key')]);
  });

  it('createServiceClient takes it too, or that of the variable, and gives it to no other machine', async () => {
    const env = { PROCTOR_DATABASE_URL: 'sqlite:other.db' };
    const { directory, url, key } = await serve(env);
    const script = `
      import { createServiceClient } from ${JSON.stringify(new URL('../../dist/client.js', import.meta.url).href)};
      const seen = [];
      const fetchAndKeep = (url, init) => (seen.push(init.headers.authorization ?? null), fetch(url, init));
      await createServiceClient({ fetch: fetchAndKeep, maxRetries: 0 }).models.list().catch(() => {});
      const refused = async () => { throw new Error('not sent'); };
      const elsewhere = (url, init) => (seen.push(init.headers.authorization ?? null), refused());
      await createServiceClient({ baseUrl: 'http://proctor.example', fetch: elsewhere, maxRetries: 0 }).models.list().catch(() => {});
      console.log(JSON.stringify(seen));`;
    const keysSent = (variables: Readonly<Record<string, string>>) =>
      JSON.parse(
        execFileSync(process.execPath, ['--input-type=module', '-e', script], {
          cwd: directory,
          encoding: 'utf8',
          env: { PATH: process.env.PATH, PROCTOR_APP_URL: url, ...variables },
        }),
      );
    expect(keysSent(env)).toEqual([`Bearer ${key}`, null]);
    expect(keysSent({ ...env, PROCTOR_API_KEY: 'pk_own' })).toEqual(['Bearer pk_own', 'Bearer pk_own']);
    expect(keysSent({})).toEqual([null, null]);
    writeFileSync(join(directory, '.env'), 'PROCTOR_DATABASE_URL=sqlite:other.db\n');
    expect(keysSent({})).toEqual([`Bearer ${key}`, null]);
  });

  it('cancels the run at the service when it is stopped', async () => {
    const { directory, url, at } = await serve();
    const slow = ['--arg', 'target=1', '--arg', 'delay_ms=60000'];
    const command = start(['run', 'counter', 'slow_count', ...slow, '--service', url], at);
    await command.prints(/step 1 slow_increment/);
    command.process.kill('SIGINT');
    expect(await command.ended).toMatchObject({ code: 1, signal: null });
    expect(await tracesOf(directory)).toMatchObject([{ status: 'cancelled' }]);
  });

  it('says what is wrong before a run exists: 2 for the command, 1 for the service', async () => {
    const { directory, url, at } = await serve();
    const run = (...args: string[]) => proctor(['run', ...args], at);
    const play = ['run', 'counter', 'count_to', '--service', url];
    const away = `http://127.0.0.1:${await freePort()}`;
    const [environment, scenario, argument, address, keyless, refused, unreachable] = await Promise.all([
      run('nothing', 'count_to', '--service', url),
      run('counter', 'nothing', '--service', url),
      run('counter', 'count_to', '--arg', 'target=many', '--service', url),
      run('counter', 'count_to', '--service', 'somewhere'),
      proctor(play, { cwd: at.cwd }),
      proctor(play, { cwd: at.cwd, env: { PROCTOR_API_KEY: 'wrong' } }),
      run('counter', 'count_to', '--service', away),
    ]);
    expect([environment.code, environment.stderr]).toEqual([2, expect.stringContaining('nothing')]);
    expect([scenario.code, scenario.stderr]).toEqual([2, expect.stringContaining('Scenarios: count_to, slow_count.')]);
    expect([argument.code, address.code]).toEqual([2, 2]);
    expect([keyless.code, keyless.stderr]).toEqual([2, expect.stringContaining('PROCTOR_API_KEY')]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('API key')]);
    expect([unreachable.code, unreachable.stderr]).toEqual([1, expect.stringContaining(away)]);
    expect(await tracesOf(directory)).toEqual([]);
  });
});
