import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ExportPlan, exportTraces } from '../../../src/cli/exchange/export/export-traces.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import type { TraceStore } from '../../../src/store/traces/trace-store.ts';
import { finished, newTrace, newTraceId, started } from '../traces/events.ts';
import { sourceOf } from './trace-source.ts';

const EVALUATION = `eval_${'1'.repeat(32)}`;
const OTHER_EVALUATION = `eval_${'2'.repeat(32)}`;
const ATTEMPTS = 4;

let folder: string;
let database: Database;
let store: TraceStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proctor-models-'));
  database = await openDatabase('sqlite::memory:');
  store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320', redactor: false });
});

afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

/** The attempts of one task with a model in an evaluation, each with this reward. */
async function play(
  model: string,
  reward: number,
  { evaluationId = EVALUATION, ...change }: { evaluationId?: string } & Parameters<typeof newTrace>[0] = {},
): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const traceId = newTraceId();
    const evaluation = { evaluation_id: evaluationId, task_id: 't1', attempt_index: attempt, rerun: 0 };
    await store.create(newTrace({ origin: 'eval', model, evaluation, ...change }, { traceId }));
    await store.append(traceId, 1, [started, finished(reward)]);
  }
}

function exported(change: Partial<ExportPlan>) {
  const plan = { named: [EVALUATION], filters: {}, format: 'inspect' as const, out: undefined, atif: '1.8' as const };
  return exportTraces(sourceOf(store), { ...plan, signal: new AbortController().signal, ...change });
}

async function jsonOf(path: string) {
  return JSON.parse(await readFile(path, 'utf8'));
}

function meanOf(log: { readonly results: { readonly scores: readonly { metrics: { mean: { value: number } } }[] } }) {
  return log.results.scores[0]?.metrics.mean.value;
}

describe('an export of an evaluation with two models', () => {
  beforeEach(async () => {
    await play('org/strong', 1);
    await play('weak', 0);
  });

  it('is a log of Inspect for each model, with its own mean and its own attempts as epochs', async () => {
    const { files, traces } = await exported({ out: join(folder, 'run.json') });
    expect(traces).toBe(8);
    expect(files).toEqual([
      { path: join(folder, 'run-org-strong.json'), model: 'org/strong', traces: 4 },
      { path: join(folder, 'run-weak.json'), model: 'weak', traces: 4 },
    ]);
    const [strong, weak] = await Promise.all(files.map(({ path }) => jsonOf(path)));
    expect([strong.eval.model, weak.eval.model]).toEqual(['org/strong', 'weak']);
    expect([strong.eval.config.epochs, weak.eval.config.epochs]).toEqual([4, 4]);
    expect([meanOf(strong), meanOf(weak)]).toEqual([1, 0]);
    expect([strong.eval.run_id, weak.eval.run_id]).toEqual([EVALUATION, EVALUATION]);
    expect(strong.eval.eval_id).not.toBe(weak.eval.eval_id);
  });

  it('is an .eval for each model', async () => {
    const { files } = await exported({ out: join(folder, 'run.eval') });
    expect(files.map(({ model }) => model)).toEqual(['org/strong', 'weak']);
    expect((await readdir(folder)).sort()).toEqual(['run-org-strong.eval', 'run-weak.eval']);
  });

  it('is a folder of verifiers for each model', async () => {
    const { files } = await exported({ format: 'verifiers', out: join(folder, 'run/') });
    expect(files.map(({ path }) => path)).toEqual([join(folder, 'run-org-strong'), join(folder, 'run-weak')]);
    const [strong, weak] = await Promise.all(files.map(({ path }) => jsonOf(join(path, 'metadata.json'))));
    expect(strong).toMatchObject({ model: 'org/strong', rollouts_per_example: 4, avg_reward: 1 });
    expect(weak).toMatchObject({ model: 'weak', rollouts_per_example: 4, avg_reward: 0 });
  });

  it('is refused on standard output, where the message names the models', async () => {
    await expect(exported({})).rejects.toThrow(/these traces are of 2: org\/strong, weak.*--model.*--out/s);
  });

  it('is one file of the model that is named, with the same id as the file among all', async () => {
    const all = await exported({ out: join(folder, 'all.json') });
    const { files } = await exported({ filters: { model: 'weak' }, out: join(folder, 'one.json') });
    expect(files).toEqual([{ path: join(folder, 'one.json'), model: 'weak', traces: 4 }]);
    const one = await jsonOf(join(folder, 'one.json'));
    expect(one.eval).toEqual((await jsonOf(all.files[1]?.path ?? '')).eval);
    const named = exported({ filters: { model: 'waek' }, out: join(folder, 'none.json') });
    await expect(named).rejects.toThrow('Did you mean "weak"? Their models: org/strong, weak.');
    await expect(exported({ filters: { model: 'weak', status: 'completed' } })).rejects.toThrow(/Only --model/);
  });

  it('writes no folder where one of them is in the way', async () => {
    await exported({ format: 'verifiers', filters: { model: 'weak' }, out: join(folder, 'run-weak') });
    await expect(exported({ format: 'verifiers', out: join(folder, 'run') })).rejects.toThrow(/is there already/);
    expect(await readdir(folder)).toEqual(['run-weak']);
  });

  it('writes names that differ in more than the case of letters', async () => {
    await play('WEAK', 1);
    await play('org:strong', 1);
    const { files } = await exported({ out: join(folder, 'run.json') });
    const names = files.map(({ path, model }) => [path.slice(folder.length + 1), model]);
    expect(names).toEqual([
      ['run-WEAK.json', 'WEAK'],
      ['run-org-strong.json', 'org/strong'],
      ['run-org-strong-2.json', 'org:strong'],
      ['run-weak-2.json', 'weak'],
    ]);
  });
});

describe('a file whose head has one mean', () => {
  it('lists the evaluations, agents, environments and scenarios that it makes one of', async () => {
    await play('strong', 1);
    const alone = await exported({ out: join(folder, 'alone.json') });
    expect(alone.lost.map(({ field }) => field)).not.toContain('evaluation_id');
    await play('strong', 0, { evaluationId: OTHER_EVALUATION, env_name: 'other', agent: 'codex' });
    const named = [EVALUATION, OTHER_EVALUATION];
    for (const [format, out] of [['inspect', 'run.json'] as const, ['verifiers', 'run'] as const]) {
      const { lost } = await exported({ named, format, out: join(folder, out) });
      expect(lost).toEqual(
        expect.arrayContaining([
          { field: 'agent', count: 2, why: expect.stringContaining('one mean') },
          { field: 'env_name', count: 2, why: expect.stringContaining('one mean') },
          { field: 'evaluation_id', count: 2, why: expect.stringContaining('counts attempts of one task together') },
        ]),
      );
      expect(lost.map(({ field }) => field)).not.toContain('scenario_name');
    }
  });
});
