import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { EventType, TraceEvent } from '../../src/contract/service/event.ts';
import { until } from '../until.ts';
import type { Deployment } from './deployment.ts';

const EVENT_WITHIN_MS = 90_000;

/** The body of a run of so many steps that take so many milliseconds each: in memory (`light`) or in a process (`heavy`). */
export function work(envName: 'light' | 'heavy', steps: number, ms: number) {
  return { env_name: envName, scenario_name: 'work', scenario_args: { steps, ms } };
}

/** A run that does not end before `open` was called: in a process (`gate`), or in memory, which starts sooner. */
export function gateOf({ directory }: Deployment, envName: 'gate' | 'gate_here') {
  const file = join(directory, 'gate');
  const body = { env_name: envName, scenario_name: 'pass', scenario_args: { file } };
  return { body, open: () => writeFileSync(file, '') };
}

/** Until this is the last event of the run. */
export async function untilEvent({ store }: Deployment, traceId: string, type: EventType, attempt: number) {
  const last = async (): Promise<TraceEvent | undefined> => (await store.events(traceId)).at(-1);
  await until(async () => expect(await last()).toMatchObject({ type, attempt }), { withinMs: EVENT_WITHIN_MS });
}

/** The process that executes the present attempt. */
export async function workerOf({ store }: Deployment, traceId: string): Promise<number> {
  const started = (await store.events(traceId)).findLast(({ type }) => type === 'run.started');
  const worker = started?.type === 'run.started' ? started.worker : '';
  return Number(/^worker_(\d+)_/.exec(worker)?.[1]);
}

export interface Load {
  /** So far. */
  readonly accepted: readonly string[];
  /** Until so many more runs have ended than now. */
  moreEnded(runs: number, withinMs: number): Promise<void>;
  /** Sends no more, and waits for the answers: all that was accepted. */
  stop(): Promise<readonly string[]>;
}

/** Clients that send one run after another, as fast as they are accepted, at most so many in all. */
export function sendRuns(
  deployment: Deployment,
  port: number,
  { clients, limit, body }: { readonly clients: number; readonly limit: number; body(index: number): object },
): Load {
  const accepted: string[] = [];
  let sent = 0;
  let isOver = false;
  const send = async () => {
    while (!isOver && sent < limit) accepted.push(await deployment.run(port, body(sent++)));
  };
  const sending = Promise.all(Array.from({ length: clients }, send));
  sending.catch(() => {}); // `stop` tells of it.
  const ended = async () => {
    const counted = deployment.database.kysely.selectFrom('outcomes').select(({ fn }) => fn.countAll().as('count'));
    return Number((await counted.executeTakeFirstOrThrow()).count);
  };
  return {
    accepted,
    async moreEnded(runs, withinMs) {
      const before = await until(ended, { withinMs });
      await until(async () => expect(await ended()).toBeGreaterThanOrEqual(before + runs), { withinMs });
    },
    async stop() {
      isOver = true;
      await sending;
      return accepted;
    },
  };
}
