import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../until.ts';
import { createDeployment, type Deployment, type Node } from './deployment.ts';
import { IS_FULL, ROUNDS, SEED, type StoreKind, storesOfRounds } from './form.ts';
import { work } from './progress.ts';
import { seededRandom } from './seeded-random.ts';

const RUNS = IS_FULL ? { heavy: 40, light: 200 } : { heavy: 6, light: 40 };
/** What a run does at most, so that all of them are in flight while the faults happen. */
const WORK = IS_FULL ? { steps: 15, stepMs: 800 } : { steps: 5, stepMs: 400 };
/** Faults of one round, and over how long they are spread, in milliseconds. */
const FAULTS = IS_FULL ? { count: 10, withinMs: 8_000 } : { count: 5, withinMs: 3_000 };
const SETTLED_WITHIN_MS = IS_FULL ? 300_000 : 110_000;

type Pick = <T>(items: readonly T[]) => T | undefined;

/** One fault each; whoever was killed is started again, as a supervisor would. */
const FAULT_KINDS: Readonly<Record<string, (deployment: Deployment, pick: Pick) => Promise<void>>> = {
  'server killed': async (deployment, pick) => await replace(deployment, pick(nodesOf(deployment, 'server'))),
  'worker killed': async (deployment, pick) => await replace(deployment, pick(nodesOf(deployment, 'worker'))),
  'server stopped for a while': async (deployment, pick) => await pause(pick(nodesOf(deployment, 'server')), 1_500),
  'worker stopped for longer than its lease': async (deployment, pick) =>
    await pause(pick(nodesOf(deployment, 'worker')), 13_000),
  'environment killed': async (deployment, pick) => signal(pick(deployment.environments()), 'SIGKILL'),
  'environment stopped for a while': async (deployment, pick) => {
    const pid = pick(deployment.environments());
    signal(pid, 'SIGSTOP');
    await sleep(1_000);
    signal(pid, 'SIGCONT');
  },
};

const stores = storesOfRounds();
const rounds = Array.from({ length: ROUNDS }, (_, round): [StoreKind, number] => [
  stores[round % stores.length] ?? 'sqlite',
  SEED + round,
]);

test.for(rounds)(
  'kill -9 and SIGSTOP of server, workers and environments on %s lose nothing and leave nothing (FAULT_SEED=%i)',
  { timeout: SETTLED_WITHIN_MS + 120_000 },
  async ([store, seed], context) => {
    const random = seededRandom(seed);
    const pick: Pick = (items) => items[Math.floor(random() * items.length)];
    const deployment = await createDeployment(context, { fault: `kill -9 and SIGSTOP, ${store}`, stores: store });
    const { port } = await deployment.start('server');
    await Promise.all([deployment.start('worker'), deployment.start('worker')]);

    const submit = async (envName: 'heavy' | 'light', count: number): Promise<string[]> => {
      const ids: string[] = [];
      for (let run = 0; run < count; run += 1) {
        const [steps, stepMs] = [1 + Math.floor(random() * WORK.steps), Math.floor(random() * WORK.stepMs)];
        ids.push(await deployment.run(port, work(envName, steps, stepMs)));
      }
      return ids;
    };
    const submitting = Promise.all([submit('heavy', RUNS.heavy), submit('light', RUNS.light)]);
    // On a slow machine the first faults would come before there is anything to lose.
    const begun = deployment.database.kysely.selectFrom('traces').select('trace_id').where('status', '!=', 'queued');
    await until(async () => expect(await begun.limit(5).execute()).toHaveLength(5), { withinMs: 60_000 });
    const kinds = Object.keys(FAULT_KINDS);
    const faults = Array.from({ length: FAULTS.count }, async (_, index) => {
      const [kind = '', atMs] = [pick(kinds), random() * FAULTS.withinMs];
      if (index === 0) return await replace(deployment, pick(nodesOf(deployment, 'worker'))); // while all of it is going on
      await sleep(atMs);
      await FAULT_KINDS[kind]?.(deployment, pick);
    });
    const [accepted] = await Promise.all([submitting, ...faults]);
    const ids = accepted.flat();
    expect(ids).toHaveLength(RUNS.heavy + RUNS.light);
    const ends = await deployment.settle(ids, SETTLED_WITHIN_MS);
    // An environment that was killed fails its run; what nobody touched is completed.
    const failed = [...ends.values()].filter(({ status }) => status !== 'completed');
    expect(failed.length).toBeLessThan(ids.length / 2);
  },
);

function nodesOf({ nodes }: Deployment, role: Node['role']): readonly Node[] {
  return [...nodes].filter((node) => node.role === role);
}

/** Two faults may pick the same process: it is replaced once, since a port has room for one. */
const replaced = new WeakSet<Node>();

async function replace(deployment: Deployment, node: Node | undefined): Promise<void> {
  if (node === undefined || replaced.has(node)) return;
  replaced.add(node);
  await deployment.kill(node);
  await deployment.start(node.role, { port: node.port });
}

async function pause(node: Node | undefined, forMs: number): Promise<void> {
  if (node === undefined) return;
  node.child.kill('SIGSTOP');
  await sleep(forMs);
  node.child.kill('SIGCONT');
}

function signal(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself meanwhile.
  }
}
