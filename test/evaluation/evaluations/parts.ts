import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { EventOf } from '../../../src/contract/service/event.ts';
import { createEvaluationStore } from '../../../src/evaluation/evaluations/database-evaluation-store.ts';
import type { EvaluationStore, NewEvaluation } from '../../../src/evaluation/evaluations/evaluation-store.ts';
import { type Scheduler, startScheduler } from '../../../src/evaluation/evaluations/scheduler.ts';
import { createTaskset } from '../../../src/evaluation/tasks/taskset.ts';
import { openParts, type Parts } from '../../service/runs/service.ts';

export const ACCOUNT = 'local';

export interface EvaluationParts extends Parts {
  readonly evaluations: EvaluationStore;
  /** Milliseconds since 1970, as drivers and store see them. */
  clock: number;
  /** Another process would have one too. It is stopped when the test ends. */
  drive(): Scheduler;
}

/** The store of a database of its own. Nothing begins attempts before `drive`. */
export async function openEvaluations(databaseUrl?: string): Promise<EvaluationParts> {
  const parts = await openParts(databaseUrl);
  let driver: Scheduler | undefined;
  const opened: EvaluationParts = {
    ...parts,
    clock: Date.now(),
    evaluations: createEvaluationStore({
      ...parts,
      appUrl: 'https://app.example',
      canPrice: ({ target }) => target !== 'unpriced',
      now: () => opened.clock,
      onChange: () => driver?.wake(),
    }),
    drive() {
      const started = startScheduler({ ...parts, logger: pino({ level: 'silent' }), now: () => opened.clock });
      onTestFinished(() => started.stop());
      driver = started;
      return started;
    },
  };
  return opened;
}

export function newEvaluation(
  given: Partial<Omit<NewEvaluation, 'taskset'>> & { readonly tasks?: number } = {},
): NewEvaluation {
  const { tasks = 5, ...others } = given;
  const task = { env: 'counter', scenario: 'count_to', split: null, tags: [], held_out: false };
  const ids = Array.from({ length: tasks }, (_, index) => `task-${String(index).padStart(3, '0')}`);
  const list = ids.map((id, index) => ({ ...task, id, cluster: id, args: { target: index } }));
  return {
    account: ACCOUNT,
    keyId: null,
    name: null,
    taskset: createTaskset(null, list),
    models: ['one'],
    attempts: 1,
    maxSteps: null,
    timeoutSeconds: null,
    sampling: {},
    seed: null,
    passThreshold: 1,
    metadata: {},
    ...others,
  };
}

export const REWARDED: EventOf<'run.finished'> = {
  type: 'run.finished',
  status: 'completed',
  stop_reason: 'answered',
  reward: 1,
  error: null,
};

export function failedAt(boundary: 'environment' | 'model' | 'evaluate', status?: number): EventOf<'run.finished'> {
  const error = {
    boundary,
    code: 'internal_error',
    message: 'It went wrong.',
    ...(status === undefined ? {} : { status }),
  };
  return { type: 'run.finished', status: 'failed', stop_reason: 'error', reward: null, error };
}

/** Ids of the traces that are queued: what a worker could take. */
export async function queued({ database }: Parts): Promise<string[]> {
  const rows = await database.kysely.selectFrom('queue').select('trace_id').orderBy('enqueued_at').execute();
  return rows.map(({ trace_id }) => trace_id);
}

/** Plays the worker: takes queued attempts, at most so many, and ends each. @returns how many. */
export async function end(parts: Parts, ending = REWARDED, limit = 100): Promise<number> {
  const leases = await parts.queue.lease('worker', { limit });
  await Promise.all(
    leases.map(async (lease) => {
      await parts.store.append(lease.traceId, 1, [ending]);
      await parts.queue.complete(lease);
    }),
  );
  return leases.length;
}
