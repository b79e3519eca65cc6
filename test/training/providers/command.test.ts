import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { startTrainingService, type TrainingServiceOptions } from '../jobs/trained.ts';
import { KEY, startFineTuningServer } from './fine-tuning-server.ts';

/** A trainer of the user, with what it does as JavaScript. */
async function start(script: string, options: TrainingServiceOptions = {}) {
  const server = await startFineTuningServer();
  const training = await startTrainingService({
    trainers: {
      lab: { kind: 'command', command: [process.execPath, '-e', script], env: { EXTRA: 'given' }, deploy: 'none' },
    },
    gateways: [{ pattern: 'local-*', baseUrl: server.url, apiKey: KEY }],
    ...options,
  });
  return { training, server };
}

const say = (event: object) => `console.log(${JSON.stringify(JSON.stringify(event))});`;
const MODEL = say({ event: 'model', name: 'local-1' });
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('a trainer that is a program', { timeout: 60_000 }, () => {
  it('gets the files by variables, without the secrets of the service, and says by lines how far it is', async () => {
    const script = `
      const fs = require('node:fs');
      fs.writeFileSync('seen.json', JSON.stringify(process.env));
      console.log('a line of a library');
      ${say({ event: 'progress', progress: 1, total: 2 })}
      ${say({ event: 'metrics', step: 3, train_loss: 0.25 })}
      ${say({ event: 'checkpoint', step: 3, name: 'local-1-step-3' })}
      ${MODEL}`;
    const { training } = await start(script);
    const jobId = await training.begin({ hyperparameters: { epochs: 2 } });
    const job = await training.reaches(jobId, 'succeeded');
    expect(job).toMatchObject({
      target: 'local-1',
      progress: { done: 1, total: 2 },
      checkpoints: [{ step: 3, target: 'local-1-step-3' }],
    });
    const events = await training.events(jobId);
    expect(events).toContainEqual(expect.objectContaining({ type: 'metrics', step: 3, metrics: { train_loss: 0.25 } }));
    expect(events).toContainEqual(expect.objectContaining({ type: 'log', message: 'a line of a library' }));
    const folder = join(training.directory, '.proctor', 'training', jobId);
    const seen = JSON.parse(readFileSync(join(folder, 'output', 'seen.json'), 'utf8'));
    expect(seen).toMatchObject({
      PROCTOR_TRAIN_FILE: join(folder, 'dataset', 'train.jsonl'),
      PROCTOR_BASE_MODEL: 'base-1',
      PROCTOR_OUTPUT: join(folder, 'output'),
      PROCTOR_HYPERPARAMETERS: '{"epochs":2}',
      EXTRA: 'given',
    });
    expect(readFileSync(seen.PROCTOR_TRAIN_FILE, 'utf8').trim().split('\n')).toHaveLength(24);
  });

  it('fails with the end of its errors where it ends with another code than 0', async () => {
    const { training } = await start(`console.error('out of memory: 24 GiB needed'); process.exit(3);`);
    const { error } = await training.reaches(await training.begin(), 'failed');
    expect(error).toMatchObject({ code: 'trainer_failed' });
    expect(error?.message).toContain('exit code 3');
    expect(error?.message).toContain('24 GiB needed');
  });

  it('fails where it ends well and names no model, and where no gateway has the address that it names', async () => {
    const { training } = await start('');
    expect((await training.reaches(await training.begin(), 'failed')).error?.code).toBe('model_missing');
    const other = await start(say({ event: 'model', name: 'x', base_url: 'http://127.0.0.1:9/v1' }));
    const { error } = await other.training.reaches(await other.training.begin(), 'failed');
    expect(error?.code).toBe('gateway_missing');
  });

  it('ends with everything that it has started when the job is cancelled', async () => {
    const script = `
      const { spawn } = require('node:child_process');
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      require('node:fs').writeFileSync('pids', process.pid + ' ' + child.pid);
      process.on('SIGTERM', () => {});
      setInterval(() => {}, 1000);`;
    const { training } = await start(script);
    const jobId = await training.begin();
    const file = join(training.directory, '.proctor', 'training', jobId, 'output', 'pids');
    const pids = await until(() => existsSync(file) && readFileSync(file, 'utf8').split(' ').map(Number));
    await training.service.request(`/v1/training/jobs/${jobId}/cancel`, { method: 'POST' });
    await training.reaches(jobId, 'cancelled');
    expect(pids.map(isAlive)).toEqual([false, false]);
  });

  it('is started again in the same directory when it is lost, three times at most', async () => {
    const script = `
      require('node:fs').appendFileSync('starts', 'x');
      process.kill(process.ppid, 'SIGKILL');
      process.kill(process.pid, 'SIGKILL');`;
    const { training } = await start(script);
    const jobId = await training.begin();
    const { error } = await training.reaches(jobId, 'failed');
    expect(error?.code).toBe('trainer_lost');
    const folder = join(training.directory, '.proctor', 'training', jobId, 'output');
    expect(readFileSync(join(folder, 'starts'), 'utf8')).toBe('xxxx');
  });

  it('goes on when its service ends, and the next one takes it up: it runs once', async () => {
    const script = `
      const fs = require('node:fs');
      fs.appendFileSync('starts', 'x');
      const wait = setInterval(() => {
        if (!fs.existsSync('go')) return;
        clearInterval(wait);
        ${MODEL}
      }, 20);`;
    const { training } = await start(script, { isDriven: false });
    const first = training.drive();
    const jobId = await training.begin();
    const folder = join(training.directory, '.proctor', 'training', jobId, 'output');
    await until(() => existsSync(join(folder, 'starts')));
    await first.stop();
    const second = training.drive();
    second.wake();
    await training.reaches(jobId, 'training');
    writeFileSync(join(folder, 'go'), '');
    await training.reaches(jobId, 'succeeded');
    expect(readFileSync(join(folder, 'starts'), 'utf8')).toBe('x');
  });
});
