import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openParts, temporaryDirectory } from '../../run-service/service.ts';
import { until } from '../../until.ts';
import { KEY, startFineTuningServer } from '../providers/fine-tuning-server.ts';
import { startTrainingService } from './trained.ts';

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

describe('a training job whose service is killed by kill -9', { timeout: 90_000 }, () => {
  it.each(MOMENTS)(
    '%s %s (%s) goes on at the next one, with one file and one job at its provider',
    async (when, moment, status) => {
      const server = await startFineTuningServer();
      const directory = temporaryDirectory();
      const databaseUrl = `sqlite:${join(directory, 'proctor.db')}`;
      const parts = await openParts(databaseUrl);
      const trainers = { lab: { kind: 'openai', url: server.url, apiKey: KEY, deploy: 'none' } } as const;
      const gateways = [{ pattern: '*', baseUrl: server.url, apiKey: KEY }];
      const training = await startTrainingService({ ...{ parts, directory, trainers, gateways }, isDriven: false });
      const start = async () => {
        const child = spawn(process.execPath, [program, databaseUrl, directory, server.url, KEY], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        onTestFinished(() => void child.kill('SIGKILL'));
        await once(child.stdout, 'data');
        return child;
      };
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
      const job = await until(async () => {
        for (const each of server.jobs.values()) each.status = 'succeeded';
        const found = await training.job(jobId);
        return ['succeeded', 'failed', 'cancelled'].includes(found.status) && found;
      });
      expect(job).toMatchObject({ status: 'succeeded', target: 'ft:1', error: null });
      expect([server.files.size, server.jobs.size]).toEqual([1, 1]);
    },
  );
});
