import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TrainingJob } from '../../../src/contract/service/training.ts';
import { openParts, type Parts, temporaryDirectory } from '../../service/runs/service.ts';
import { until } from '../../until.ts';
import { KEY, startFineTuningServer } from '../providers/fine-tuning-server.ts';
import { startTrainingService, type TrainingService } from './trained.ts';

const program = fileURLToPath(new URL('./fixtures/driver-process.mjs', import.meta.url));

/** The request at which the service is killed: right before its provider works on it, or right after. */
const MOMENTS = [
  ['before', 'POST /v1/files', 'uploading'],
  ['after', 'POST /v1/files', 'uploading'],
  ['before', 'POST /v1/fine_tuning/jobs', 'uploading'],
  ['after', 'POST /v1/fine_tuning/jobs', 'uploading'],
  ['after', 'GET /v1/fine_tuning/jobs/ftjob-1', 'queued'],
  ['after', 'GET /v1/fine_tuning/jobs/ftjob-1/checkpoints', 'training'],
  ['before', 'POST /v1/chat/completions', 'deploying'],
] as const;

interface Killing {
  readonly server: Awaited<ReturnType<typeof startFineTuningServer>>;
  readonly training: TrainingService;
  readonly parts: Parts;
  readonly directory: string;
  /** Starts a service that works on the job. */
  start(): Promise<ChildProcess>;
  /** The job at its end. */
  ended(jobId: string): Promise<TrainingJob>;
}

async function prepare(): Promise<Killing> {
  const server = await startFineTuningServer();
  const directory = temporaryDirectory();
  const databaseUrl = `sqlite:${join(directory, 'proctor.db')}`;
  const parts = await openParts(databaseUrl);
  const trainers = { lab: { kind: 'openai', url: server.url, apiKey: KEY, deploy: 'none' } } as const;
  const gateways = [{ pattern: '*', baseUrl: server.url, apiKey: KEY }];
  const training = await startTrainingService({ ...{ parts, directory, trainers, gateways }, isDriven: false });
  return {
    ...{ server, training, parts, directory },
    async start() {
      const child = spawn(process.execPath, [program, databaseUrl, directory, server.url, KEY], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      await once(child.stdout, 'data');
      return child;
    },
    ended: (jobId) =>
      until(async () => {
        for (const each of server.jobs.values()) Object.assign(each, { status: 'succeeded', fine_tuned_model: 'ft:1' });
        const found = await training.job(jobId);
        return ['succeeded', 'failed', 'cancelled'].includes(found.status) && found;
      }),
  };
}

describe('a training job whose service is killed by kill -9', { timeout: 90_000 }, () => {
  it.each(MOMENTS)(
    '%s %s (%s) goes on at the next one, with one file and one job at its provider',
    async (when, moment, status) => {
      const { server, training, start, ended } = await prepare();
      let first: ChildProcess | undefined;
      server.intercept = async (request, at) => {
        const [job] = server.jobs.values();
        if (job !== undefined && first?.signalCode === null)
          job.status = status === 'deploying' ? 'succeeded' : 'running';
        if (job !== undefined) job.fine_tuned_model = 'ft:1';
        if (first === undefined || first.signalCode !== null || request !== moment || at !== when) return;
        first.kill('SIGKILL');
        await once(first, 'exit');
      };
      const jobId = await training.begin();
      first = await start();
      await until(() => first?.signalCode === 'SIGKILL');
      expect((await training.job(jobId)).status).not.toMatch(/succeeded|failed|cancelled/);
      await start();
      const job = await ended(jobId);
      expect(job).toMatchObject({ status: 'succeeded', target: 'ft:1', error: null });
      expect([server.files.size, server.jobs.size]).toEqual([1, 1]);
    },
  );

  it.each(['building', 'validating'] as const)('while it is %s goes on with a whole dataset', async (status) => {
    const { server, training, parts, directory, start, ended } = await prepare();
    let first: ChildProcess | undefined;
    server.intercept = async () => {
      if (first === undefined || first.signalCode !== null) return;
      first.kill('SIGKILL');
      await once(first, 'exit');
    };
    const jobId = await training.begin();
    first = await start();
    await until(() => first?.signalCode === 'SIGKILL');
    const { dataset } = await training.job(jobId);
    // As it is left by a kill a moment before: the row is behind the files, and some of those are half written.
    const folder = join(directory, '.proctor', 'training', jobId);
    const half = join(folder, `.dataset.writing.${first.pid}.0badcafe`);
    mkdirSync(half);
    writeFileSync(join(half, 'train.jsonl'), '{"messages":');
    await parts.database.kysely
      .updateTable('training_jobs')
      .set({ status, ...(status === 'building' ? { dataset: null } : {}) })
      .where('job_id', '=', jobId)
      .execute();
    await start();
    const job = await ended(jobId);
    expect(job).toMatchObject({ status: 'succeeded', target: 'ft:1', dataset });
    expect([server.files.size, server.jobs.size]).toEqual([1, 1]);
    if (status === 'building') expect(readdirSync(folder)).toEqual(['dataset']);
  });

  it('while it is evaluating goes on with the same two evaluations', async () => {
    const { server, training, parts, directory, start, ended } = await prepare();
    mkdirSync(join(directory, 'tasksets'));
    const tasks = [100, 101].map((target) => ({
      ...{ id: `far-${target}`, env: 'counter', scenario: 'count_to', args: { target } },
    }));
    writeFileSync(join(directory, 'tasksets', 'exam.jsonl'), tasks.map((task) => JSON.stringify(task)).join('\n'));
    const jobId = await training.begin({ held_out: ['exam'], evaluate: { attempts: 1, seed: 1 } });
    let first: ChildProcess | undefined;
    server.intercept = async () => {
      for (const each of server.jobs.values()) Object.assign(each, { status: 'succeeded', fine_tuned_model: 'ft:1' });
      if (first === undefined || first.signalCode !== null) return;
      if ((await training.job(jobId)).status !== 'evaluating') return;
      first.kill('SIGKILL');
      await once(first, 'exit');
    };
    first = await start();
    await until(() => first?.signalCode === 'SIGKILL');
    await start();
    const job = await ended(jobId);
    expect(job).toMatchObject({ status: 'succeeded', target: 'ft:1' });
    const made = await parts.database.kysely.selectFrom('evaluations').selectAll().execute();
    expect(made.filter((row) => JSON.stringify(row).includes(jobId))).toHaveLength(2);
    expect(server.jobs.size).toBe(1);
  });
});
