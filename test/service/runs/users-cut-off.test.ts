import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { evaluationAcceptedSchema, evaluationDetailSchema } from '../../../src/contract/service/evaluation.ts';
import { traceSchema } from '../../../src/contract/service/trace.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { startBusyGateway } from '../../busy-gateway.ts';
import { says, startGateway } from '../../gateway.ts';
import { openParts, startService, temporaryDirectory, traceIdOf } from './service.ts';
import { spawnService } from './service-process.ts';

const TRAVEL = {
  name: 'travel',
  path: fileURLToPath(new URL('../../../environments/travel/environment.ts', import.meta.url)),
};
/** Processes start slowly on a machine that is busy. */
const PATIENCE = { timeout: 150_000 } as const;

/** A guest who has one reply. */
const TEA_ROOM = inMemory(() => {
  const env = new EnvironmentServer({ name: 'tea', version: '1.0.0' });
  env.scenario('short', { user: { instructions: 'You want tea.', maxTurns: 1 } }, async function* (_args, { judge }) {
    const answer: string = yield 'Hello.';
    return (await judge({ rubric: 'It is polite.', material: answer })).score;
  });
  return env;
});

describe('a conversation that is cut off', PATIENCE, () => {
  it('by kill -9 in the turn of the user is played from its beginning, as attempt 2, and has its reward', async () => {
    const lines = ['My flight is too early.', 'QK4TZ1, Aster.', '###STOP###'];
    // The second reply never comes: that is where the worker is killed.
    const gateway = await startGateway(says(lines[0] ?? ''), () => {}, ...lines.map((line) => says(line)));
    const databaseUrl = `sqlite:${join(temporaryDirectory(), 'proctor.db')}`;
    const first = await spawnService(databaseUrl, gateway.url, TRAVEL);
    const run = {
      ...{ env_name: 'travel', scenario_name: 'passenger', scenario_args: { task: 'later-flight' } },
      ...{ model: 'proctor/oracle', user_model: 'guest' },
    };
    const traceId = traceIdOf(await first.request('/v1/agent/run', run));
    await expect.poll(() => gateway.requests.length, { timeout: 90_000 }).toBe(2);
    const dead = once(first.child, 'exit');
    first.child.kill('SIGKILL');
    await dead;
    const { database } = await openParts(databaseUrl);
    await database.kysely.updateTable('queue').set({ lease_until: 1 }).execute(); // As a clock does in 10 s.

    const second = await spawnService(databaseUrl, gateway.url, TRAVEL);
    const trace = traceSchema.parse((await second.request(`/v1/traces/${traceId}?wait=60`)).json);
    expect(trace).toMatchObject({
      ...{ status: 'completed', stop_reason: 'answered', reward: 1, attempt: 2 },
      attempts: [{ end: 'lost' }, { end: 'completed' }],
    });
    expect(trace.turns.map(({ messages }) => messages[0]?.content)).toEqual(lines.slice(0, 2));
    // Nothing that the user had said to the first attempt is left in its ears.
    expect(gateway.requests[2]?.body.messages).toHaveLength(2);
  });
});

describe('an evaluation that is cut off', PATIENCE, () => {
  it('by kill -9 amid the votes of a judge is asked for anew in the next attempt, and has its reward', async () => {
    const verdict = says('{"score": true, "reason": "It is so."}');
    // One of the rules is judged, the other one never: that is where the worker is killed.
    const gateway = await startGateway(verdict, () => {}, verdict);
    const databaseUrl = `sqlite:${join(temporaryDirectory(), 'proctor.db')}`;
    const first = await spawnService(databaseUrl, gateway.url, TRAVEL);
    const args = { task: 'basic-fare', user_script: ['I fly on the 22nd.'] };
    const run = {
      ...{ env_name: 'travel', scenario_name: 'passenger', scenario_args: args },
      ...{ model: 'proctor/oracle', judge_model: 'critic' },
    };
    const traceId = traceIdOf(await first.request('/v1/agent/run', run));
    await expect.poll(() => gateway.requests.length, { timeout: 90_000 }).toBe(2);
    const dead = once(first.child, 'exit');
    first.child.kill('SIGKILL');
    await dead;
    const { database } = await openParts(databaseUrl);
    await database.kysely.updateTable('queue').set({ lease_until: 1 }).execute(); // As a clock does in 10 s.

    const second = await spawnService(databaseUrl, gateway.url, TRAVEL);
    const trace = traceSchema.parse((await second.request(`/v1/traces/${traceId}?wait=60`)).json);
    expect(trace).toMatchObject({ status: 'completed', reward: 1, attempt: 2, usage: { judge: { model_calls: 2 } } });
    expect(trace.judgements).toHaveLength(2);
    expect(gateway.requests).toHaveLength(4);
  });
});

describe('a conversation whose gateways are away', PATIENCE, () => {
  const RUN = { env_name: 'tea', scenario_name: 'short', scenario_args: {}, model: 'agent' };
  /** Retries cost no time here. */
  const timing = { now: () => Date.now(), random: () => 0, sleep: async () => {} };

  async function startTeaRoom() {
    const [agent, guest] = [await startBusyGateway(), await startBusyGateway()];
    const critic = await startBusyGateway({ text: '{"score": true, "reason": "It is."}' });
    const gateways = [
      { pattern: 'agent', baseUrl: agent.url },
      { pattern: 'critic', baseUrl: critic.url },
      { pattern: '*', baseUrl: guest.url },
    ];
    const models = createModels({ gateways, timing, harness: { user: 'guest', judge: 'critic' } });
    return {
      agent,
      guest,
      critic,
      service: await startService({ environments: new Map([['tea', TEA_ROOM]]), models }),
    };
  }

  it('ends as user_error without a reward where it is that of the user, after the retries', async () => {
    const { guest, service } = await startTeaRoom();
    await guest.goAway();
    const trace = await service.ended(traceIdOf(await service.run(RUN)));
    expect(trace).toMatchObject({
      ...{ status: 'failed', outcome: 'infra_error', reward: null },
      error: { boundary: 'worker', code: 'user_error', message: expect.stringContaining('plays the user') },
    });
    expect(trace.usage.model_calls).toBe(1);
  });

  it('ends as grader_error without a reward where it is that of the judge', async () => {
    const { critic, service } = await startTeaRoom();
    await critic.goAway();
    const trace = await service.ended(traceIdOf(await service.run(RUN)));
    expect(trace).toMatchObject({ status: 'failed', outcome: 'grader_error', reward: null });
    expect(trace).toMatchObject({ error: { boundary: 'evaluate', message: expect.stringContaining('critic') } });
  });

  const post = { method: 'POST', headers: { 'content-type': 'application/json' } };

  async function evaluate({ service }: Awaited<ReturnType<typeof startTeaRoom>>) {
    const tasks = [{ id: 'one', env: 'tea', scenario: 'short' }];
    const body = JSON.stringify({ tasks, models: ['agent'], attempts: 3 });
    const reply = await service.request('/v1/evaluations', { ...post, body });
    const { evaluation_id: id } = evaluationAcceptedSchema.parse(reply.json);
    return async () =>
      evaluationDetailSchema.parse((await service.request(`/v1/evaluations/${id}?wait=60`)).json).progress;
  }

  it.each([
    ['agent and user', ['agent', 'guest']],
    ['the judge', ['critic']],
  ] as const)('is waited for in an evaluation, and costs no attempt: those of %s', async (_who, away) => {
    const room = await startTeaRoom();
    const { service } = room;
    await Promise.all(away.map((who) => room[who].goAway()));
    const ended = await evaluate(room);
    const held = () => service.database.kysely.selectFrom('gateway_limits').selectAll().execute();
    // From then on calls wait.
    await expect.poll(async () => (await held()).length, { timeout: 30_000 }).toBeGreaterThan(0);
    await Promise.all(away.map((who) => room[who].comeBack()));
    expect(await ended()).toMatchObject({ done: 3, reruns: 0, outcomes: { limit: 3 } });
  });

  it('is run again by an evaluation where that of the user has failed', async () => {
    const room = await startTeaRoom();
    const { guest, service } = room;
    guest.failWith(401);
    const ended = await evaluate(room);
    const rows = () =>
      service.database.kysely.selectFrom('evaluation_attempts').select(['state', 'outcome', 'reward']).execute();
    await expect
      .poll(rows, { timeout: 40_000 })
      .toEqual(Array.from({ length: 3 }, () => ({ state: 'waiting', outcome: 'infra_error', reward: null })));
    guest.failWith(undefined);
    // As a clock does in some seconds.
    await service.database.kysely.updateTable('evaluation_attempts').set({ due_at: 1 }).execute();
    expect(await ended()).toMatchObject({ done: 3, reruns: 3, outcomes: { limit: 3 } });
  });
});
