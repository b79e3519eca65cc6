import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Trace, traceSchema } from '../../src/contract/service/trace.ts';
import { isRunning } from '../environment/client/processes.ts';
import { orphanEnvironment } from '../environment/process/orphan.ts';
import { freePort } from '../free-port.ts';
import { send } from '../support/http/http-server.ts';
import { createProject, PATIENCE, proctor, start } from './command.ts';
import { environmentsOf } from './processes.ts';

const startedSchema = z.object({ url: z.string() });
const workerSchema = z.object({
  worker: z.string(),
  environments: z.array(z.string()),
  concurrency: z.int(),
  health_url: z.string().optional(),
});

/** A service that executes nothing itself, and what asks it. */
async function serveWithoutWorker(cwd: string) {
  const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
  const service = start(['serve', ...ports, '--no-worker', '--json'], { cwd });
  const [line] = await service.prints(/^\{.*\}$/m);
  const { url } = startedSchema.parse(JSON.parse(line));
  const key = readFileSync(join(cwd, '.proctor', 'key'), 'utf8').trim();
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const trace = async (id: string, seconds = 0): Promise<Trace> =>
    traceSchema.parse((await send(url, `/v1/traces/${id}?wait=${seconds}`, { headers })).json);
  return {
    service,
    trace,
    run: async (body: object) => {
      const sent = { method: 'POST', headers, body: JSON.stringify({ model: 'proctor/oracle', ...body }) };
      return z.object({ trace_id: z.string() }).parse((await send(url, '/v1/agent/run', sent)).json).trace_id;
    },
    /** The trace once its last event is of this kind. */
    until: (id: string, status: string) =>
      expect.poll(async () => (await trace(id)).status, { timeout: 50_000 }).toBe(status),
  };
}

async function startWorker(cwd: string, args: readonly string[] = []) {
  const running = start(['worker', '--json', ...args], { cwd });
  const [line] = await running.prints(/^\{.*\}$/m);
  return { running, ...workerSchema.parse(JSON.parse(line)) };
}

async function stop({ running }: { readonly running: ReturnType<typeof start> }) {
  running.process.kill('SIGTERM');
  return await running.ended;
}

const counting = { env_name: 'counter', scenario_name: 'count_to', scenario_args: { target: 2 } };
const waiting = (file: string) => ({ env_name: 'gate', scenario_name: 'pass', scenario_args: { file } });

describe('proctor worker', PATIENCE, () => {
  it('executes what a service of the same database accepted, and ends with 0 on SIGTERM, leaving no process', async () => {
    const cwd = createProject('counter');
    // Where runs share a process none waits for the next one.
    const counter = { path: 'environments/counter/environment.ts', sessionsPerProcess: 1 };
    writeFileSync(
      join(cwd, 'proctor.config.mjs'),
      `export default ${JSON.stringify({ environments: { counter } })};\n`,
    );
    const { run, trace } = await serveWithoutWorker(cwd);
    const traceId = await run(counting);
    expect(await trace(traceId, 1)).toMatchObject({ status: 'queued', attempt: 1 });
    const worker = await startWorker(cwd, ['--concurrency', '3']);
    expect(worker).toMatchObject({ environments: ['counter'], concurrency: 3 });
    expect(await trace(traceId, 60)).toMatchObject({ status: 'completed', reward: 1 });
    const { pid } = worker.running.process;
    // One waits for the next run.
    await expect.poll(() => environmentsOf(pid).length, { timeout: 20_000 }).toBe(1);
    const spares = environmentsOf(pid);
    const { code, signal, stdout } = await stop(worker);
    expect([code, signal, stdout.trim().split('\n').length]).toEqual([0, null, 1]);
    expect(spares.filter(isThere)).toEqual([]);
  });

  it('gives its runs back on SIGTERM, as a new attempt that does not count, and another worker finishes them', async () => {
    const cwd = createProject('gate');
    const { run, trace, until } = await serveWithoutWorker(cwd);
    const gate = join(cwd, 'gate');
    const first = await startWorker(cwd);
    const traceId = await run(waiting(gate));
    await until(traceId, 'running');
    expect((await stop(first)).code).toBe(0);
    expect(await trace(traceId)).toMatchObject({
      status: 'queued',
      attempt: 2,
      attempts: [
        { attempt: 1, end: 'released' },
        { attempt: 2, end: null },
      ],
    });
    writeFileSync(gate, '');
    await startWorker(cwd);
    expect(await trace(traceId, 60)).toMatchObject({ status: 'completed', attempt: 2, reward: 1 });
  });

  it('takes the runs of the environments that it was told alone, and keeps their limits', async () => {
    const cwd = createProject('counter', 'gate');
    const { run, trace, until } = await serveWithoutWorker(cwd);
    const gate = join(cwd, 'gate');
    const worker = await startWorker(cwd, ['--env', 'gate', '--env-concurrency', 'gate=1', '--concurrency', '4']);
    expect(worker.environments).toEqual(['gate']);
    const [other, first, second] = [await run(counting), await run(waiting(gate)), await run(waiting(gate))];
    await until(first, 'running');
    expect(await trace(second, 2)).toMatchObject({ status: 'queued' });
    writeFileSync(gate, '');
    expect(await trace(second, 60)).toMatchObject({ status: 'completed' });
    expect(await trace(other)).toMatchObject({ status: 'queued' });
    await startWorker(cwd, ['--env', 'counter', '--spares', '0']);
    expect(await trace(other, 60)).toMatchObject({ status: 'completed' });
  });

  it('says that it is alive and ready where it is asked to, until it stops, and not elsewhere without a key', async () => {
    const cwd = createProject('counter');
    const port = String(await freePort());
    const worker = await startWorker(cwd, ['--health-port', port]);
    expect(worker.health_url).toBe(`http://127.0.0.1:${port}`);
    const ask = (path: string) => send(`http://127.0.0.1:${port}`, path);
    expect([(await ask('/healthz')).status, (await ask('/readyz')).status]).toEqual([200, 200]);
    expect((await ask('/metrics')).text).toContain('proctor_runs_active 0');
    expect((await ask('/v1/traces')).status).toBe(401);
    expect((await stop(worker)).code).toBe(0);
    await expect(ask('/healthz')).rejects.toThrow();
    const { code, stderr } = await proctor(['worker', '--health-port', port, '--health-host', '0.0.0.0'], { cwd });
    expect([code, stderr]).toEqual([1, expect.stringContaining('Refusing to listen on "0.0.0.0"')]);
  });

  it.skipIf(process.platform !== 'linux')(
    'ends at its start what one before it left behind that was killed together with its watchdog',
    async () => {
      const orphans = await orphanEnvironment();
      expect(orphans.filter(isThere)).toEqual(orphans);
      await startWorker(createProject('counter'));
      await expect.poll(() => orphans.filter(isRunning), { timeout: 30_000 }).toEqual([]);
    },
  );

  it.each([
    [['--env', 'nowhere'], /--env names the environment "nowhere", which is not a known one \(counter\)/],
    [['--env-concurrency', 'nowhere=2'], /--env-concurrency names the environment "nowhere"/],
    [['--env-concurrency', 'counter'], /<environment>=<count>/],
    [['--env-concurrency', 'counter=0'], /whole number from 1/],
    [['--concurrency', '0'], /whole number from 1/],
  ])('%j ends with 2', async (args, message) => {
    const { code, stdout, stderr } = await proctor(['worker', ...args], { cwd: createProject('counter') });
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(message)]);
  });

  it('refuses a database that no service can share with it', async () => {
    const env = { PROCTOR_DATABASE_URL: 'sqlite::memory:' };
    const { code, stderr } = await proctor(['worker'], { cwd: createProject('counter'), env });
    expect([code, stderr]).toEqual([2, expect.stringContaining('sqlite::memory:')]);
  });
});

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
