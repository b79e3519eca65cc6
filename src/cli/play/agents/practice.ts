import { pino } from 'pino';
import { z } from 'zod';
import { LOCAL_ACCOUNT } from '../../../contract/names.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import { EnvironmentServer } from '../../../environment/authoring/environment-server.ts';
import { EnvironmentPool } from '../../../environment/client/pool/environment-pool.ts';
import { inMemory } from '../../../environment/server/in-memory.ts';
import { createModels } from '../../../models/gateway/create-model.ts';
import type { AgentDefinition } from '../../../rollout/agents/agent-definition.ts';
import type { Agents } from '../../../rollout/agents/agents.ts';
import { toQueuedRun } from '../../../rollout/session/queued-run.ts';
import { RunInterrupted } from '../../../rollout/session/run.ts';
import { createCancelWatch } from '../../../service/runs/worker/cancel-watch.ts';
import { executeLease } from '../../../service/runs/worker/leased-run.ts';
import { openDatabase } from '../../../store/database/open-database.ts';
import { createDatabaseQueue } from '../../../store/queue/database-queue.ts';
import type { Lease } from '../../../store/queue/run-queue.ts';
import { createLeaseKeeper } from '../../../store/queue/threaded-lease-keeper.ts';
import { createTraceStore } from '../../../store/traces/database-store.ts';
import { newId } from '../../../support/runtime/new-id.ts';
import { startScriptedGateway } from './scripted-gateway.ts';

const MODEL = 'scripted';
const LIMIT_SECONDS = 180;
const WEIGHT = 17;

/** An environment with one scenario: one tool call and a graded answer. */
function createScale(): EnvironmentServer {
  const env = new EnvironmentServer({ name: 'practice', version: '1.0.0' });
  let weighed = 0;
  env.tool('weigh', { description: 'Weighs a parcel and gives its grams.', args: { parcel: z.string() } }, () => {
    weighed += 1;
    return { grams: WEIGHT };
  });
  env.scenario('weigh_parcel', {}, async function* () {
    const answer: unknown = yield 'How many grams does the parcel "red" have? Weigh it, then say so.';
    return { reward: weighed === 1 && String(answer).includes(String(WEIGHT)) ? 1 : 0, info: { weighed } };
  });
  return env;
}

/**
 * Lets an agent play a small scenario with a scripted model. Everything runs in this process with a database in
 * memory; no gateway is called.
 *
 * @returns the finished trace. @throws Error if no run was possible.
 */
export async function practise(agent: AgentDefinition, agents: Agents, stop: AbortSignal): Promise<Trace> {
  const gateway = await startScriptedGateway({
    calls: [{ name: 'weigh', arguments: { parcel: 'red' } }],
    answer: `The parcel "red" has ${WEIGHT} grams.`,
  });
  const database = await openDatabase('sqlite::memory:');
  const queue = createDatabaseQueue(database);
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1' });
  const pool = new EnvironmentPool({ perEnvironment: 0, report: () => {} });
  const leases = createLeaseKeeper(queue);
  const cancels = createCancelWatch(store, () => {});
  const interrupt = new AbortController();
  const onStop = () => interrupt.abort(new RunInterrupted('cancelled'));
  stop.addEventListener('abort', onStop, { once: true });
  if (stop.aborted) onStop();
  try {
    const traceId = newId();
    const queued = toQueuedRun({
      origin: 'run',
      env_name: 'practice',
      scenario_name: 'weigh_parcel',
      model: agent.needs === 'none' ? undefined : MODEL,
      agent: agent.name,
      max_steps: 10,
      timeout_seconds: LIMIT_SECONDS,
    });
    let lease: Lease | undefined;
    await store.create({ traceId, account: LOCAL_ACCOUNT, queued }, async (transaction) => {
      lease = await queue.enqueueLeased({ traceId, priority: 0 }, 'doctor', transaction);
    });
    if (lease === undefined) throw new TypeError('A trace was created without its queue entry');
    await executeLease(lease, interrupt, {
      environments: new Map([['practice', inMemory(createScale)]]),
      models: createModels({ gatewayUrl: gateway.url, gatewayApiKey: 'scripted' }),
      store,
      queue,
      leases,
      cancels,
      pool,
      agents,
      logger: pino({ level: 'silent' }),
      worker: 'doctor',
    });
    const trace = await store.trace(traceId);
    if (trace === undefined) throw new TypeError('The trace of the practice is gone');
    return trace;
  } finally {
    stop.removeEventListener('abort', onStop);
    cancels.close();
    await leases.close();
    await pool.close();
    await queue.close();
    await database.close();
    await gateway.close();
  }
}
