import { EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callTool, definitionOf } from './fixtures.ts';

const newEnvironment = () => new EnvironmentServer({ name: 'shop' });

describe('an environment', () => {
  it('needs a name that is not empty', () => {
    expect(() => new EnvironmentServer({ name: '' })).toThrow(/needs a name.*got ""/);
    expect(() => new EnvironmentServer({ name: '  ' })).toThrow(/needs a name/);
    // @ts-expect-error a name is required
    expect(() => new EnvironmentServer({})).toThrow(/needs a name/);
    // @ts-expect-error options are required
    expect(() => new EnvironmentServer()).toThrow(/needs a name/);
  });

  it('has version 0.0.0 and no instructions by default', () => {
    expect(definitionOf(newEnvironment())).toMatchObject({ name: 'shop', version: '0.0.0', serverOptions: {} });
    expect(definitionOf(newEnvironment()).instructions).toBeUndefined();
  });

  it('has a process for each session by default, and says otherwise in whole numbers from 1 on', () => {
    expect(definitionOf(newEnvironment()).sessionsPerProcess).toBe(1);
    const shared = new EnvironmentServer({ name: 'shop', sessionsPerProcess: 100 });
    expect(definitionOf(shared)).toMatchObject({ sessionsPerProcess: 100, serverOptions: {} });
    for (const sessionsPerProcess of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '2', null] as number[]) {
      expect(() => new EnvironmentServer({ name: 'shop', sessionsPerProcess })).toThrow(
        /^Environment "shop": sessionsPerProcess has to be a whole number from 1 on, got /,
      );
    }
  });

  it('passes every other option through to the MCP server', () => {
    const options = { name: 'shop', version: '2.1.0', instructions: 'Be kind.', title: 'A shop', debouncedList: ['x'] };
    expect(definitionOf(new EnvironmentServer(options))).toMatchObject({
      version: '2.1.0',
      instructions: 'Be kind.',
      serverOptions: { title: 'A shop', debouncedList: ['x'] },
    });
  });
});

describe('a tool', () => {
  it('is registered by call and by object, and runs with arguments that its schema has read', async () => {
    const environment = newEnvironment()
      .tool('add', { args: z.object({ a: z.number(), b: z.number().default(2) }) }, ({ a, b }) => a + b)
      .addTool({ name: 'shout', args: { text: z.string() }, handler: ({ text }) => text.toUpperCase() });
    expect(await callTool(environment, 'add', { a: 1 })).toBe(3);
    expect(await callTool(environment, 'shout', { text: 'hello' })).toBe('HELLO');
  });

  it('gets the context of the request as its second argument', async () => {
    const environment = newEnvironment().tool('who', {}, (_args, { session }) => session.id);
    expect(await callTool(environment, 'who')).toBe('session-1');
  });

  it('keeps its description, title, annotations and output schema', () => {
    const environment = newEnvironment().tool(
      'read',
      {
        description: 'Reads it.',
        title: 'Read',
        annotations: { readOnlyHint: true },
        returns: z.object({ count: z.number() }),
      },
      () => ({ count: 1 }),
    );
    expect(definitionOf(environment).tools.get('read')).toMatchObject({
      description: 'Reads it.',
      title: 'Read',
      annotations: { readOnlyHint: true },
      output: { jsonSchema: { type: 'object', required: ['count'] } },
    });
  });

  it('without args takes none', async () => {
    const environment = newEnvironment().tool('read', {}, () => 1);
    expect(definitionOf(environment).tools.get('read')?.input.jsonSchema).toEqual({
      type: 'object',
      properties: {},
      additionalProperties: false,
    });
    expect(await callTool(environment, 'read')).toBe(1);
    await expect(callTool(environment, 'read', { by: 1 })).rejects.toThrow('"path":"by"');
  });

  it.each(['', 'a b', 'a.b', 'ä', 'x'.repeat(65), 'a/b'])('cannot be named %j', (name) => {
    expect(() => newEnvironment().tool(name, {}, () => 1)).toThrow(JSON.stringify(name));
  });

  it('can be named with 64 letters, digits, "_" and "-"', () => {
    expect(() => newEnvironment().tool(`A-z_0${'x'.repeat(59)}`, {}, () => 1)).not.toThrow();
  });

  it('needs a handler that is a function', () => {
    // @ts-expect-error the handler is missing
    expect(() => newEnvironment().tool('read', {})).toThrow('Tool "read": the handler has to be a function');
  });

  it('that is a duplicate is refused at registration, by name, and the first one stays', async () => {
    const environment = newEnvironment().tool('read', {}, () => 1);
    expect(() => environment.tool('read', {}, () => 2)).toThrow('Environment "shop" already has a tool named "read"');
    expect(() => environment.addTool({ name: 'read', handler: () => 2 })).toThrow('already has a tool named "read"');
    expect(await callTool(environment, 'read')).toBe(1);
  });

  it.each(['setup', 'evaluate', 'evaluation', 'solution'])(
    'cannot have the name of the harness hub %s, so that nobody publishes an answer key',
    (name) => {
      expect(() => newEnvironment().tool(name, {}, () => 1)).toThrow(`new Hub("${name}")`);
    },
  );
});

describe('a hub', () => {
  const notes = () => new Hub('notes', { audience: 'agent' }).tool('add', { args: { text: z.string() } }, () => 1);

  it('groups functions under its name', () => {
    const hub = definitionOf(newEnvironment().mount(notes())).hubs.get('notes');
    expect(hub).toMatchObject({ name: 'notes', audience: 'agent' });
    expect([...(hub?.tools.keys() ?? [])]).toEqual(['add']);
  });

  it('takes functions after it was mounted too', () => {
    const hub = notes();
    const environment = newEnvironment().mount(hub);
    hub.addTool({ name: 'list', handler: () => [] });
    expect([...(definitionOf(environment).hubs.get('notes')?.tools.keys() ?? [])]).toEqual(['add', 'list']);
  });

  it.each(['setup', 'evaluate', 'evaluation', 'solution'] as const)(
    'named %s is the harness’s and need not say it',
    (name) => {
      const environment = newEnvironment().mount(new Hub(name));
      expect(definitionOf(environment).hubs.get(name)?.audience).toBe('harness');
      expect(() => new Hub(name, { audience: 'agent' })).toThrow(`Hub "${name}" is always the harness's`);
    },
  );

  it('of another name has to say who may call it', () => {
    // @ts-expect-error an audience is required
    expect(() => new Hub('grader')).toThrow('Hub "grader" has to say who may call it');
    // @ts-expect-error an audience is agent or harness
    expect(() => new Hub('grader', { audience: 'all' })).toThrow(
      'audience has to be "agent" or "harness" or "user", got "all"',
    );
    expect(() => new Hub('grader', { audience: 'harness' })).not.toThrow();
  });

  it('refuses two functions of one name, and a bad name', () => {
    expect(() => notes().tool('add', {}, () => 1)).toThrow('Hub "notes" already has a function named "add"');
    expect(() => notes().tool('a b', {}, () => 1)).toThrow('Hub "notes", function name "a b"');
    expect(() => new Hub('a b', { audience: 'agent' })).toThrow('Hub name "a b"');
  });

  it('cannot have the name of a tool or of another hub, nor a tool that of a hub', () => {
    const withTool = newEnvironment().tool('notes', {}, () => 1);
    expect(() => withTool.mount(notes())).toThrow('already has a tool named "notes"');
    const withHub = newEnvironment().mount(notes());
    expect(() => withHub.mount(notes())).toThrow('already has a hub named "notes"');
    expect(() => withHub.tool('notes', {}, () => 1)).toThrow('already has a hub named "notes"');
  });

  it('is what mount takes', () => {
    // @ts-expect-error not a hub
    expect(() => newEnvironment().mount({})).toThrow('mount takes a Hub');
  });
});

describe('hooks', () => {
  it('are kept in the order of registration', () => {
    const [first, second] = [() => {}, () => {}];
    const environment = newEnvironment()
      .initialize(first)
      .initialize(second)
      .shutdown(first)
      .shutdown(second)
      .close(second);
    expect(definitionOf(environment)).toMatchObject({
      initializeHooks: [first, second],
      shutdownHooks: [first, second],
      closeHooks: [second],
    });
  });

  it('are functions', () => {
    // @ts-expect-error not a function
    expect(() => newEnvironment().shutdown('now')).toThrow('shutdown takes a function, got string');
  });
});
