import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import {
  ACCOUNT,
  type EvaluationParts,
  end,
  failedAt,
  newEvaluation,
  openEvaluations,
  queued,
  REWARDED,
} from './parts.ts';

async function rowsOf({ database }: EvaluationParts, id: string) {
  return await database.kysely
    .selectFrom('evaluation_attempts')
    .selectAll()
    .where('evaluation_id', '=', id)
    .orderBy('task_index')
    .orderBy('model_index')
    .orderBy('attempt_index')
    .execute();
}

async function statusOf({ evaluations }: EvaluationParts, id: string) {
  return await evaluations.status(ACCOUNT, id);
}

/** Ends whatever is queued until the evaluation is over. */
async function playToTheEnd(parts: EvaluationParts, id: string): Promise<void> {
  await until(async () => {
    await end(parts);
    expect(await statusOf(parts, id)).toBe('completed');
  });
}

describe('a driver', () => {
  it('begins no more attempts than may go on at once, over two processes that know nothing of each other', async () => {
    const parts = await openEvaluations();
    parts.drive();
    parts.drive();
    const { evaluationId } = await parts.evaluations.create(newEvaluation({ tasks: 30, attempts: 2, concurrency: 4 }));
    let most = 0;
    await until(async () => {
      const open = (await rowsOf(parts, evaluationId)).filter(({ state }) => state === 'running').length;
      most = Math.max(most, open, (await queued(parts)).length);
      await end(parts, REWARDED, 3);
      expect(await statusOf(parts, evaluationId)).toBe('completed');
    });
    expect(most).toBe(4);
    const traces = await parts.database.kysely.selectFrom('traces').select('trace_id').execute();
    expect(traces).toHaveLength(60);
    expect(await rowsOf(parts, evaluationId)).toHaveLength(60);
  });

  it('writes no row for an attempt before it begins', async () => {
    const parts = await openEvaluations();
    const { evaluationId } = await parts.evaluations.create(newEvaluation({ tasks: 1_000, attempts: 1_000 }));
    expect(await rowsOf(parts, evaluationId)).toEqual([]);
    const { progress } = await parts.evaluations.get(ACCOUNT, evaluationId);
    expect(progress).toMatchObject({ done: 0, total: 1_000_000 });
  });

  it('goes on where another process was killed, in each state', async () => {
    const parts = await openEvaluations();
    const first = parts.drive();
    const { evaluationId: running } = await parts.evaluations.create(newEvaluation({ tasks: 6, concurrency: 2 }));
    const { evaluationId: paused } = await parts.evaluations.create(newEvaluation({ tasks: 2, name: 'paused' }));
    await parts.evaluations.pause(ACCOUNT, paused);
    await until(async () => expect((await queued(parts)).length).toBeGreaterThanOrEqual(2));
    await first.stop();
    await end(parts, failedAt('environment'), 1);

    parts.clock += 60_000;
    parts.drive();
    await playToTheEnd(parts, running);
    expect(await statusOf(parts, paused)).toBe('paused');
    expect((await rowsOf(parts, running)).map(({ outcome }) => outcome)).toEqual(Array(6).fill('graded'));
    await parts.evaluations.resume(ACCOUNT, paused);
    await playToTheEnd(parts, paused);
  });

  it('completes an evaluation whose last attempt ended while no driver was there', async () => {
    const parts = await openEvaluations();
    const first = parts.drive();
    const { evaluationId } = await parts.evaluations.create(newEvaluation({ tasks: 1 }));
    await until(async () => expect(await queued(parts)).toHaveLength(1));
    await first.stop();
    await end(parts);
    expect(await statusOf(parts, evaluationId)).toBe('running');
    parts.drive();
    await until(async () => expect(await statusOf(parts, evaluationId)).toBe('completed'));
  });
});

describe('reruns', () => {
  it('come three times, each as a trace of its own after a longer wait; the row shows the latest', async () => {
    const parts = await openEvaluations();
    parts.drive();
    const { evaluationId } = await parts.evaluations.create(newEvaluation({ tasks: 1 }));
    const waits: number[] = [];
    for (let rerun = 0; rerun < 4; rerun += 1) {
      await until(async () => expect(await end(parts, failedAt('environment'))).toBe(1));
      const [row] = await rowsOf(parts, evaluationId);
      expect(row?.rerun).toBe(rerun);
      if (rerun === 3) break;
      expect(row?.state).toBe('waiting');
      waits.push((row?.due_at ?? 0) - (row?.finished_at ?? 0));
      parts.clock = Number(row?.due_at);
    }
    await until(async () => expect(await statusOf(parts, evaluationId)).toBe('completed'));
    for (const [index, least] of [5_000, 30_000, 120_000].entries()) {
      expect(waits[index]).toBeGreaterThanOrEqual(least);
      expect(waits[index]).toBeLessThanOrEqual(least * 1.2);
    }
    const [row] = await rowsOf(parts, evaluationId);
    expect(row).toMatchObject({ state: 'done', outcome: 'infra_error', rerun: 3 });
    const { data } = await parts.store.list({ evaluationId });
    expect(data.map(({ rerun, superseded, trace_id }) => [rerun, superseded, trace_id === row?.trace_id])).toEqual([
      [3, false, true],
      [2, true, false],
      [1, true, false],
      [0, true, false],
    ]);
    const summary = await parts.store.summary({ evaluationId });
    expect(summary.count).toBe(1);
    expect((await parts.store.trace(data[1]?.trace_id ?? ''))?.superseded).toBe(true);
  });

  it.each([401, 403, 404])('do not follow a gateway that answered %i', async (status) => {
    const parts = await openEvaluations();
    parts.drive();
    const { evaluationId } = await parts.evaluations.create(newEvaluation({ tasks: 1 }));
    await until(async () => expect(await end(parts, failedAt('model', status))).toBe(1));
    await until(async () => expect(await statusOf(parts, evaluationId)).toBe('completed'));
    const { data } = await parts.evaluations.attempts(ACCOUNT, evaluationId);
    expect(data).toMatchObject([{ outcome: 'model_error', reruns: 0, reward: null, error: { status } }]);
  });

  it('do not follow a tool that holds up its environment', async () => {
    const parts = await openEvaluations();
    parts.drive();
    const { evaluationId } = await parts.evaluations.create(newEvaluation({ tasks: 1 }));
    const error = {
      boundary: 'tool',
      code: 'tool_blocked',
      message: 'The tool spin holds up the environment.',
    } as const;
    await until(async () => expect(await end(parts, { ...failedAt('environment'), error })).toBe(1));
    await until(async () => expect(await statusOf(parts, evaluationId)).toBe('completed'));
    const { data } = await parts.evaluations.attempts(ACCOUNT, evaluationId);
    expect(data).toMatchObject([{ outcome: 'infra_error', reruns: 0, reward: null, error }]);
  });

  it('are not given an outcome before the last of them has ended', async () => {
    const parts = await openEvaluations();
    parts.drive();
    const { evaluationId } = await parts.evaluations.create(newEvaluation({ tasks: 1 }));
    await until(async () => expect(await end(parts, failedAt('evaluate'))).toBe(1));
    const { data } = await parts.evaluations.attempts(ACCOUNT, evaluationId);
    expect(data).toMatchObject([{ outcome: null, reward: null, error: { boundary: 'evaluate' } }]);
    expect((await parts.evaluations.attempts(ACCOUNT, evaluationId, { outcome: 'grader_error' })).data).toEqual([]);
  });

  it('count what the earlier traces have cost, apart from the attempt', async () => {
    const parts = await openEvaluations();
    parts.drive();
    const { evaluationId } = await parts.evaluations.create(newEvaluation({ tasks: 1 }));
    await until(async () => expect(await queued(parts)).toHaveLength(1));
    await parts.database.kysely
      .updateTable('evaluation_attempts')
      .set({ state: 'waiting', due_at: 0, outcome: 'infra_error', cost_usd: 0.25, total_tokens: 40 })
      .execute();
    await until(async () => expect(await rowsOf(parts, evaluationId)).toMatchObject([{ rerun: 1 }]));
    expect(await rowsOf(parts, evaluationId)).toMatchObject([
      { state: 'running', earlier_usd: 0.25, earlier_tokens: 40, total_tokens: 0, cost_usd: null, outcome: null },
    ]);
  });
});
