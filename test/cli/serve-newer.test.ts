import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { freePort } from '../free-port.ts';
import { send } from '../support/http/http-server.ts';
import { until } from '../until.ts';
import { createProject, PATIENCE, proctor, start } from './command.ts';

const COUNTER = fileURLToPath(new URL('../../environments/counter/environment.ts', import.meta.url));

const configOf = (config: object) => `export default ${JSON.stringify(config)};\n`;

async function serve(cwd: string) {
  const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
  const service = start(['serve', ...ports, '--json'], { cwd });
  const [line] = await service.prints(/^\{.*\}$/m);
  const { url, scenarios_url } = z.object({ url: z.string(), scenarios_url: z.string() }).parse(JSON.parse(line));
  const key = readFileSync(join(cwd, '.proctor', 'key'), 'utf8').trim();
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return {
    service,
    get: (path: string) => send(url, path, { headers }),
    scenarios: () => send(scenarios_url, '/scenarios', { headers }),
    run: (body: object) =>
      send(url, '/v1/agent/run', {
        method: 'POST',
        headers: { ...headers, prefer: 'wait=50' },
        body: JSON.stringify({ scenario_name: 'count_to', scenario_args: { target: 3 }, ...body }),
      }),
  };
}

describe('proctor serve that is open while its folder changes', PATIENCE, () => {
  it('serves an environment that was made after its start', async () => {
    const cwd = createProject('gate');
    const { get, run, scenarios } = await serve(cwd);
    expect((await run({ env_name: 'fresh', model: 'proctor/oracle' })).status).toBe(404);
    symlinkSync(dirname(COUNTER), join(cwd, 'environments', 'fresh'));
    expect(await run({ env_name: 'fresh', model: 'proctor/oracle' })).toMatchObject({
      status: 200,
      json: { status: 'completed', reward: 1 },
    });
    const { data } = z
      .object({ data: z.array(z.object({ name: z.string() })) })
      .parse((await get('/v1/environments')).json);
    expect(data.map(({ name }) => name)).toEqual(['fresh', 'gate']);
    expect((await scenarios()).text).toContain('count_to');
  });

  it('has the environments and agents of a configuration that was changed, and keeps them while it is wrong', async () => {
    const cwd = createProject('gate');
    const config = join(cwd, 'proctor.config.mjs');
    writeFileSync(config, configOf({}));
    const { service, get, run } = await serve(cwd);
    const counts = { command: ['/bin/sh', '-c', 'exit 7'], needs: 'none' };
    writeFileSync(config, configOf({ environments: { fresh: { path: COUNTER } }, agents: { counts } }));
    const played = await until(async () => {
      const reply = await run({ env_name: 'fresh', agent: 'counts' });
      return reply.status === 200 && reply;
    });
    const { trace_id } = z.object({ trace_id: z.string() }).parse(played.json);
    const { json: trace } = await get(`/v1/traces/${trace_id}`);
    expect(trace).toMatchObject({ agent: 'counts', attempt: 1, error: { code: 'agent_failed' } });
    expect(JSON.stringify(trace)).toContain('exited with code 7');
    writeFileSync(config, 'export default { environments: ');
    await service.prints(/proctor\.config\.mjs could not be loaded.*goes on with what it knew/);
    expect((await run({ env_name: 'fresh', model: 'proctor/oracle' })).json).toMatchObject({ reward: 1 });
  });

  it('leaves attempts of an environment that another folder has to "proctor eval" there, at no cost', async () => {
    const cwd = createProject('gate');
    const newer = createProject('counter');
    const env = { PROCTOR_DATABASE_URL: `sqlite:${join(cwd, '.proctor', 'shared.db')}` };
    mkdirSync(join(cwd, '.proctor'));
    const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
    const service = start(['serve', ...ports, '--json'], { cwd, env });
    await service.prints(/^\{.*\}$/m);
    writeFileSync(
      join(newer, 'tasks.jsonl'),
      [3, 4, 5, 6]
        .map(
          (target) =>
            `${JSON.stringify({ id: `to-${target}`, env: 'counter', scenario: 'count_to', args: { target } })}\n`,
        )
        .join(''),
    );
    const { code, stdout } = await proctor(['eval', 'tasks.jsonl', '--model', 'proctor/oracle', '--json'], {
      cwd: newer,
      env,
    });
    const report = JSON.parse(stdout);
    expect([code, report.progress.done, report.progress.outcomes]).toEqual([0, 4, { graded: 4 }]);
    const { data } = JSON.parse((await proctor(['traces', 'list', '--json'], { cwd: newer, env })).stdout);
    expect(data.map(({ attempt }: { attempt: number }) => attempt)).toEqual([1, 1, 1, 1]);
  });
});
