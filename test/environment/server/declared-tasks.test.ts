import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connect, connectInMemory, HARNESS, httpTransport, serveHttp } from './clients.ts';

const KEY = 'k'.repeat(32);

function createDoor(events: string[] = []) {
  return () => {
    const env = new EnvironmentServer({ name: 'door' });
    env.initialize(() => {
      events.push('hook');
    });
    const args = { times: z.int().default(1) };
    env.scenario('push', { args, tasks: [{ id: 'once' }, { id: 'twice', args: { times: 2 } }] }, async function* () {
      yield 'Push.';
      return 1;
    });
    const later = async () => {
      events.push('asked');
      return [{ id: 'later', tags: ['slow'] }];
    };
    env.scenario('pull', { tasks: later }, async function* () {
      yield 'Pull.';
      return 1;
    });
    const broken = () => {
      throw new Error('no list of doors');
    };
    env.scenario('knock', { tasks: broken }, async function* () {
      yield 'Knock.';
      return 1;
    });
    env.scenario('look', {}, async function* () {
      yield 'Look.';
      return 1;
    });
    return env;
  };
}

describe.each(['legacy', 'modern'] as const)('the tasks of a scenario (%s)', (mode) => {
  it('are resources of the harness, one for each scenario that declares any', async () => {
    const client = await connectInMemory(createDoor(), { mode, meta: HARNESS });
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(
      expect.arrayContaining(['svc://tasks/push', 'svc://tasks/pull', 'svc://tasks/knock']),
    );
    expect(resources.map(({ uri }) => uri)).not.toContain('svc://tasks/look');
    await expect(client.readResource({ uri: 'svc://tasks/look' })).rejects.toThrow('Unknown resource');
  });

  it('are read as they were declared', async () => {
    const client = await connectInMemory(createDoor(), { mode, meta: HARNESS });
    const { contents } = await client.readResource({ uri: 'svc://tasks/push' });
    expect(contents).toMatchObject([{ uri: 'svc://tasks/push', mimeType: 'application/json' }]);
    const [content] = contents;
    expect(JSON.parse(content !== undefined && 'text' in content ? content.text : '')).toEqual({
      tasks: [{ id: 'once' }, { id: 'twice', args: { times: 2 } }],
    });
  });

  it('tell a harness what their function has thrown', async () => {
    const client = await connectInMemory(createDoor(), { mode, meta: HARNESS });
    await expect(client.readResource({ uri: 'svc://tasks/knock' })).rejects.toThrow(
      'The tasks of the scenario "knock" failed: no list of doors',
    );
  });

  it('are told as a list of resources that has changed to a harness alone', async () => {
    const heard: string[] = [];
    const env = new EnvironmentServer({ name: 'late' });
    for (const [name, meta] of [
      ['harness', HARNESS],
      ['agent', {}],
    ] as const) {
      const client = await connectInMemory(env, { mode: 'legacy', meta });
      client.setNotificationHandler('notifications/resources/list_changed', () => {
        heard.push(name);
      });
    }
    env.scenario('push', { tasks: [{ id: 'a' }] }, async function* () {
      yield 'Push.';
      return 1;
    });
    await expect.poll(() => heard).toContain('harness');
    expect(heard).toEqual(['harness']);
  });
});

it('a list of tasks needs no initialize hook, a function of the author comes after it', async () => {
  const events: string[] = [];
  const client = await connectInMemory(createDoor(events), { mode: 'modern', meta: HARNESS });
  await client.readResource({ uri: 'svc://tasks/push' });
  expect(events).toEqual([]);
  await client.readResource({ uri: 'svc://tasks/pull' });
  expect(events).toEqual(['hook', 'asked']);
});

it('over HTTP only the harness key opens the tasks', async () => {
  const url = await serveHttp(createDoor(), { harnessKey: KEY });
  const harness = await connect(httpTransport(url), { meta: { ...HARNESS, 'svc/harness_key': KEY } });
  expect(JSON.stringify(await harness.readResource({ uri: 'svc://tasks/push' }))).toContain('twice');
  const forger = await connect(httpTransport(url), { meta: { ...HARNESS, 'svc/harness_key': `${KEY}x` } });
  expect(JSON.stringify(await forger.listResources())).not.toContain('svc://tasks');
  await expect(forger.readResource({ uri: 'svc://tasks/push' })).rejects.toThrow('Unknown resource: svc://tasks/push');
});

it.each([
  ['a text', 'text', 'got string'],
  ['an object', { id: 'a' }, 'got object'],
])('tasks that are %s are refused when they are declared', (_what, tasks, message) => {
  const env = new EnvironmentServer({ name: 'door' });
  const declare = () =>
    env.scenario('push', { tasks: tasks as never }, async function* () {
      yield 'Push.';
      return 1;
    });
  expect(declare).toThrow(message);
});

it('an author cannot take the address of tasks for a resource', () => {
  const env = new EnvironmentServer({ name: 'door' });
  expect(() => env.resource('svc://tasks/push', {}, () => 'mine')).toThrow('svc://tasks/push');
});
