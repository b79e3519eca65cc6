import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { z } from 'zod';
import type { AgentDefinition } from '../../agents/agent-definition.ts';
import type { Agents } from '../../agents/agents.ts';
import { EnvironmentPool } from '../../client/environment-pool.ts';
import { EXTERNAL_MODEL } from '../../contract/seat.ts';
import type { Trace } from '../../contract/trace.ts';
import { openDatabase } from '../../database/open-database.ts';
import { EnvironmentServer } from '../../environment/environment-server.ts';
import { inMemory } from '../../mcp/in-memory.ts';
import { createModels } from '../../model/create-model.ts';
import { createDatabaseQueue } from '../../queue/database-queue.ts';
import type { Lease } from '../../queue/run-queue.ts';
import { createLeaseKeeper } from '../../queue/threaded-lease-keeper.ts';
import { RunInterrupted } from '../../rollout/run.ts';
import { createCancelWatch } from '../../run-service/cancel-watch.ts';
import { executeLease } from '../../run-service/leased-run.ts';
import { createTraceStore } from '../../trace/database-store.ts';
import { startScriptedGateway } from './scripted-gateway.ts';

const MODEL = 'scripted';
const LIMIT_SECONDS = 180;
const WEIGHT = 17;

/** A scale in memory: one call, and its answer is graded. */
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
 * Has an agent play a small scenario with a model that follows a script, all of it in this process and in a database in
 * memory: no gateway is asked.
 *
 * @returns its trace, which has ended. @throws Error where nothing could be played here.
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
    const traceId = randomBytes(16).toString('hex');
    const queued = {
      ...{ origin: 'run' as const, env_name: 'practice', scenario_name: 'weigh_parcel', scenario_args: {} },
      ...{ model: agent.needs === 'none' ? EXTERNAL_MODEL : MODEL, agent: agent.name, max_steps: 10 },
      ...{ timeout_seconds: LIMIT_SECONDS, seed: null, sampling: {}, metadata: {}, priority: 0 },
    };
    let lease: Lease | undefined;
    await store.create({ traceId, account: 'local', queued }, async (transaction) => {
      lease = await queue.enqueueLeased({ traceId, priority: 0 }, 'doctor', transaction);
    });
    if (lease === undefined) throw new TypeError('A trace was created without its queue entry');
    await executeLease(lease, interrupt, {
      environments: new Map([['practice', inMemory(createScale)]]),
      models: createModels({ gatewayUrl: gateway.url, gatewayApiKey: 'scripted' }),
      ...{ store, queue, leases, cancels, pool, agents, logger: pino({ level: 'silent' }), worker: 'doctor' },
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
