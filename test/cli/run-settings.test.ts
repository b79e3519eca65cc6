import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { freePort } from '../free-port.ts';
import { says, startGateway } from '../gateway.ts';
import { openParts } from '../service/runs/service.ts';
import { createProject, PATIENCE, proctor, start } from './command.ts';

const SETTINGS = [
  ...['--temperature', '0.25', '--sampling', '{"top_p":0.5,"temperature":1}', '--seed', '7', '--timeout', '120'],
  ...['--metadata', 'night=2026-01-31', '--metadata', 'note=a=b'],
];

async function traceOf(cwd: string, stdout: string) {
  const { runs } = z.object({ runs: z.array(z.object({ trace_id: z.string() })) }).parse(JSON.parse(stdout));
  const { store } = await openParts(`sqlite:${join(cwd, '.proctor', 'proctor.db')}`, onTestFinished);
  const traceId = runs[0]?.trace_id ?? '';
  const queued = (await store.events(traceId)).find(({ type }) => type === 'run.queued');
  return { trace: await store.trace(traceId), queued };
}

const EXPECTED = {
  metadata: { night: '2026-01-31', note: 'a=b' },
  sampling: { top_p: 0.5, temperature: 0.25 },
  seed: 7,
};

describe('the settings of proctor run', PATIENCE, () => {
  it('reach the trace and the request to the gateway', async () => {
    const gateway = await startGateway(says('done'));
    const cwd = createProject('counter');
    const args = ['run', 'counter', 'count_to', '--arg', 'target=1', '--model', 'some-model', ...SETTINGS, '--json'];
    const { code, stdout } = await proctor(args, { cwd, env: { PROCTOR_GATEWAY_URL: gateway.url } });
    expect(code).toBe(0);
    expect(gateway.requests.at(-1)?.body).toMatchObject({ temperature: 0.25, top_p: 0.5, seed: 7 });
    expect(await traceOf(cwd, stdout)).toMatchObject({
      trace: EXPECTED,
      queued: { ...EXPECTED, timeout_seconds: 120 },
    });
  });

  it('reach them with --service too', async () => {
    const gateway = await startGateway(says('done'));
    const cwd = createProject('counter');
    const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
    const service = start(['serve', ...ports, '--json'], { cwd, env: { PROCTOR_GATEWAY_URL: gateway.url } });
    const [line] = await service.prints(/^\{.*\}$/m);
    const { url } = z.object({ url: z.string() }).parse(JSON.parse(line));
    const args = ['run', 'counter', 'count_to', '--arg', 'target=1', '--model', 'some-model', ...SETTINGS, '--json'];
    const env = { PROCTOR_API_KEY: readFileSync(join(cwd, '.proctor', 'key'), 'utf8').trim() };
    const { code, stdout } = await proctor([...args, '--service', url], { cwd: createProject(), env });
    expect(code).toBe(0);
    expect(gateway.requests.at(-1)?.body).toMatchObject({ temperature: 0.25, top_p: 0.5, seed: 7 });
    expect(await traceOf(cwd, stdout)).toMatchObject({
      trace: EXPECTED,
      queued: { ...EXPECTED, timeout_seconds: 120 },
    });
  });

  it.each([
    [['--temperature', 'warm'], /'warm'.*a number/],
    [['--sampling', '[1]'], /JSON object such as/],
    [['--timeout', '86401'], /'86401'.*from 1 to 86400/],
    [['--metadata', 'night'], /--metadata takes name=value, not "night"/],
    [['--metadata', 'a=1', '--metadata', 'a=2'], /--metadata has "a" twice/],
    [['--metadata', '__proto__=x'], /--metadata: __proto__ has to be called otherwise/],
    [['--sampling', '{"a":[1e400]}'], /--sampling: a\.0 has to be a number that is finite/],
    [['--seed', '9007199254740993'], /from -9007199254740991 to 9007199254740991/],
    [['--arg', '__proto__=x'], /__proto__ is not an argument that exists/],
    [['--metadata', `${'k'.repeat(65)}=1`], /has 1 to 64 characters/],
  ])('%j is exit code 2 and no run', async (args, message) => {
    const cwd = createProject('counter');
    const { code, stdout, stderr } = await proctor(['run', 'counter', 'count_to', '--arg', 'target=1', ...args], {
      cwd,
    });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
  });
});
