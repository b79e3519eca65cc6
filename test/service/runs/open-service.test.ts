import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import Counter from '../../../environments/counter/environment.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import type { Installation } from '../../../src/service/runs/installation.ts';
import { type OpenService, type OpenServiceOptions, openService } from '../../../src/service/runs/open-service.ts';
import { answersOf, gateIn, HOSTED, play, untilAnswered } from '../../faults/hosted.ts';
import { gate } from '../../rollout/session/fixtures.ts';
import { newTrace } from '../../store/traces/events.ts';
import { until } from '../../until.ts';
import { APP_URL, COUNTER, openParts, type Parts, temporaryDirectory } from './service.ts';

const HOOKED = fileURLToPath(new URL('./fixtures/hooked/environment.ts', import.meta.url));
const RUN = { env_name: 'counter', scenario_name: 'count_to', scenario_args: { target: 3 }, model: 'proctor/oracle' };

/** The service of a directory without a configuration, until the test ends. */
async function open(
  environments: ReadonlyMap<string, EnvironmentTarget>,
  { parts: given, ...options }: Partial<OpenServiceOptions> & { readonly parts?: Parts } = {},
): Promise<Parts & { readonly service: OpenService }> {
  const parts = given ?? (await openParts());
  const project = { environments, models: createModels({}), settings: { appUrl: APP_URL } };
  const installation = { ...parts, ...project } as unknown as Installation;
  const service = await openService(installation, { logger: pino({ level: 'silent' }), ...options });
  onTestFinished(() => service[Symbol.asyncDispose]());
  return { ...parts, service };
}

describe('a service without an address', () => {
  it('plays a run again whose attempt was lost with its environment', { timeout: 90_000 }, async () => {
    const target: EnvironmentTarget = { kind: 'module', path: HOSTED, limits: { sessionsPerProcess: 2 } };
    const { service, store } = await open(new Map([['hosted', target]]), { plays: 'own', hosts: 1 });
    const directory = temporaryDirectory();
    const [exit, hold] = [gateIn(directory, 'exit'), gateIn(directory, 'gate')];
    const begin = async (body: ReturnType<typeof play>) =>
      (await service.client.runs.create({ ...body, model: 'proctor/oracle' })).trace_id;
    const guilty = await begin(play(['who'], exit.call, ['exit']));
    const neighbour = await begin(play(['who'], hold.call));
    expect(await untilAnswered(store, neighbour, 1)).toBe(await untilAnswered(store, guilty, 1));
    exit.open();
    await untilAnswered(store, neighbour, 2);
    hold.open();
    const ended = await until(async () => {
      const trace = await store.trace(neighbour);
      return trace?.status === 'completed' && trace;
    });
    expect(ended).toMatchObject({ reward: 1, attempt: 2, attempts: [{ end: 'lost' }, { end: 'completed' }] });
    expect(await answersOf(store, neighbour, 2)).toHaveLength(2);
  });

  it('runs the shutdown hooks of sessions that go on when it closes, also where they share a process', async () => {
    const target: EnvironmentTarget = { kind: 'module', path: HOOKED };
    const { service } = await open(new Map([['hooked', target]]), { plays: 'own', hosts: 1 });
    const notes = join(temporaryDirectory(), 'notes');
    const run = { env_name: 'hooked', scenario_name: 'hold', scenario_args: { notes }, model: 'proctor/oracle' };
    await service.client.runs.create(run);
    const lines = () => (existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n') : []);
    await until(() => lines().includes('held'), { withinMs: 20_000 });
    await service[Symbol.asyncDispose]();
    expect(lines()).toEqual(['held', 'close', 'shutdown']);
  });

  it('begins no run whose environment is still being asked when it closes', async () => {
    const asked = gate();
    const answer = gate();
    onTestFinished(() => answer.open());
    const slow: EnvironmentTarget = {
      kind: 'memory',
      open(report) {
        const opened = inMemory(Counter).open(report);
        const { clientTransport } = opened;
        const send = clientTransport.send.bind(clientTransport);
        clientTransport.send = async (...message) => {
          asked.open();
          await answer.passed;
          await send(...message);
        };
        return opened;
      },
    };
    const { service, database } = await open(new Map([['counter', slow]]), { plays: 'own' });
    const creating = service.client.runs.create(RUN).catch((error: unknown) => error);
    await asked.passed;
    const closing = service[Symbol.asyncDispose]();
    answer.open();
    await closing;
    expect(String(await creating)).toContain('shutting down');
    expect(await database.kysely.selectFrom('traces').select('trace_id').execute()).toEqual([]);
  });

  it('gives a run back to the queue that was being written when it closed', async () => {
    const parts = await openParts();
    const [written, answer] = [gate(), gate()];
    const create = parts.store.create.bind(parts.store);
    vi.spyOn(parts.store, 'create').mockImplementation(async (...args) => {
      await create(...args);
      written.open();
      await answer.passed;
    });
    const { service, queue } = await open(new Map([['counter', COUNTER]]), { parts, plays: 'own' });
    const creating = service.client.runs.create(RUN).catch((error: unknown) => error);
    await written.passed;
    expect(await queue.counts()).toEqual({ waiting: 0, leased: 1 });
    const closing = service[Symbol.asyncDispose]();
    // Long after everything else was closed.
    setTimeout(() => answer.open(), 300);
    await closing;
    expect(await queue.counts()).toEqual({ waiting: 1, leased: 0 });
    expect(String(await creating)).toContain('shutting down');
  });

  it('leaves runs in the queue whose environments it does not have', async () => {
    const parts = await openParts();
    const enqueue = async (env_name: string) => {
      const trace = newTrace({ env_name, model: 'proctor/noop' });
      const { traceId } = trace;
      await parts.store.create(trace, (transaction) => parts.queue.enqueue({ traceId, priority: 0 }, transaction));
      return traceId;
    };
    const foreign = await enqueue('foreign');
    const own = await enqueue('counter');
    const release = vi.spyOn(parts.queue, 'release');
    await open(new Map([['counter', COUNTER]]), { parts, plays: 'queue' });
    await until(async () => (await parts.store.row(own))?.status === 'completed');
    expect(await parts.store.row(foreign)).toMatchObject({ status: 'queued', attempt: 1 });
    expect((await parts.store.events(foreign)).map(({ type }) => type)).toEqual(['run.queued']);
    expect(release).not.toHaveBeenCalled();
  });
});
