import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  attemptListSchema,
  evaluationAcceptedSchema,
  evaluationDetailSchema,
} from '../../src/contract/service/evaluation.ts';
import { until } from '../until.ts';
import { createDeployment, type Deployment, type Node } from './deployment.ts';
import { IS_FULL, ROUNDS, SEED, type StoreKind, storesOfRounds } from './form.ts';
import { work } from './progress.ts';
import { seededRandom } from './seeded-random.ts';

/** 500 attempts and 20 kills in full. */
const SIZE = IS_FULL ? { tasks: 50, attempts: 10, concurrency: 24 } : { tasks: 10, attempts: 4, concurrency: 8 };
const KILLS = IS_FULL ? { count: 20, everyMs: 2_000 } : { count: 4, everyMs: 1_200 };
const WORK = IS_FULL ? { steps: 6, stepMs: 500 } : { steps: 4, stepMs: 400 };
/** Leases run out, and reruns wait up to two minutes. */
const ENDED_WITHIN_MS = IS_FULL ? 600_000 : 150_000;

const stores = storesOfRounds();
const rounds = Array.from({ length: ROUNDS }, (_, round): [StoreKind, number] => [
  stores[round % stores.length] ?? 'sqlite',
  SEED + round,
]);

test.for(rounds)(
  'an evaluation whose service and workers are killed on %s has every attempt once (FAULT_SEED=%i)',
  { timeout: ENDED_WITHIN_MS + 120_000 },
  async ([store, seed], context) => {
    const random = seededRandom(seed);
    const fault = `kill -9 in an evaluation, ${store}`;
    const deployment = await createDeployment(context, { fault, stores: store });
    const { port } = await deployment.start('server');
    await Promise.all([deployment.start('worker'), deployment.start('worker')]);

    const total = SIZE.tasks * SIZE.attempts;
    const { env_name: env, scenario_name: scenario } = work('light', 1, 1);
    const tasks = Array.from({ length: SIZE.tasks }, (_, index) => {
      const [steps, stepMs] = [1 + Math.floor(random() * WORK.steps), Math.floor(random() * WORK.stepMs)];
      return { id: `task-${index}`, env, scenario, args: work('light', steps, stepMs).scenario_args };
    });
    const { attempts, concurrency } = SIZE;
    const body = { tasks, models: ['proctor/oracle'], attempts, concurrency, resume: true };
    const id = evaluationAcceptedSchema.parse(
      (await deployment.request(port, '/v1/evaluations', body)).json,
    ).evaluation_id;

    for (let kill = 0; kill < KILLS.count; kill += 1) {
      await sleep(KILLS.everyMs * (0.5 + random()));
      const nodes = [...deployment.nodes];
      await replace(deployment, nodes[Math.floor(random() * nodes.length)]);
    }
    // Two that give the same command again find the same evaluation.
    const again = await Promise.all([1, 2].map(() => deployment.request(port, '/v1/evaluations', body)));
    for (const reply of again) expect(reply.json).toMatchObject({ evaluation_id: id });

    const read = async () =>
      evaluationDetailSchema.parse((await deployment.request(port, `/v1/evaluations/${id}`)).json);
    await until(async () => expect((await read()).status).toBe('completed'), { withinMs: ENDED_WITHIN_MS });
    const { progress } = await read();
    expect(progress).toMatchObject({ done: total, total, running: 0, outcomes: { graded: total } });

    const path = `/v1/evaluations/${id}/attempts?limit=1000`;
    const rows = attemptListSchema.parse((await deployment.request(port, path)).json).data;
    const names = rows.map(({ task_id, attempt_index }) => `${task_id} ${attempt_index}`);
    expect(new Set(names).size).toBe(total);
    expect(names).toHaveLength(total);

    // One trace is the latest of each attempt; all others were superseded, once for each rerun.
    const traces = await deployment.database.kysely
      .selectFrom('traces')
      .select(['trace_id', 'is_superseded'])
      .where('evaluation_id', '=', id)
      .execute();
    const latest = traces.filter(({ is_superseded }) => is_superseded === 0).map(({ trace_id }) => trace_id);
    expect(latest.sort()).toEqual(rows.map(({ trace_id }) => trace_id).sort());
    expect(traces.length - latest.length).toBe(progress.reruns);
    await deployment.settle(
      traces.map(({ trace_id }) => trace_id),
      60_000,
    );
  },
);

/** As a supervisor does. */
async function replace(deployment: Deployment, node: Node | undefined): Promise<void> {
  if (node === undefined) return;
  await deployment.kill(node);
  await deployment.start(node.role, { port: node.port });
}
