import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { textOf } from '../server/clients.ts';
import { createKey, openSession, PATIENCE, startHost, type TestSession } from './hosts.ts';

async function startPair(): Promise<{ one: TestSession; other: TestSession; log: string[] }> {
  const { host, log } = await startHost();
  return { one: await openSession(host, 'one'), other: await openSession(host, 'other'), log };
}

const call = ({ client }: TestSession, name: string, args: Record<string, unknown> = {}) =>
  client.callTool({ name, arguments: args });

describe('two sessions of one host', PATIENCE, () => {
  it('have an instance each', async () => {
    const { one, other } = await startPair();
    expect(textOf(await call(one, 'name'))).toBe('one');
    expect(textOf(await call(other, 'name'))).toBe('other');
  });

  it('each get what their own code prints: calls, hooks, halves of a scenario, timers and callbacks', async () => {
    const { one, other, log } = await startPair();
    const printing = [one, other].map((each, index) => call(each, 'print', { text: `by ${index}` }));
    await Promise.all(printing);
    await call(one, 'setup', { name: 'task', arguments: {} });
    await call(one, 'evaluate', { name: 'task', arguments: { answer: 'done' } });
    await Promise.all([one.client.close(), other.client.close()]);
    const prints = (index: number) =>
      ['log', 'error', 'stdout', 'timer', 'microtask', 'immediate'].map((how) => `${how} by ${index}`);
    expect(one.printed).toEqual(
      expect.arrayContaining([
        'initialize one',
        ...prints(0),
        'stderr by 0 ü',
        'no line end by 0first half',
        'second half',
        'close one',
      ]),
    );
    expect(other.printed).toEqual(
      expect.arrayContaining(['initialize other', ...prints(1), 'no line end by 1close other']),
    );
    expect(one.printed.join()).not.toMatch(/other|by 1/);
    expect(other.printed.join()).not.toMatch(/one|by 0|half/);
    expect(log.join()).not.toMatch(/by \d|half|initialize|close/);
  });

  it('leave to the log of the process what no call printed, what children print, and what comes after the end', async () => {
    const { one, other, log } = await startPair();
    await call(one, 'print_child', { text: 'of one' });
    await call(one, 'print_later', { text: 'of one' });
    await one.client.close();
    await until(() => log.includes('later of one'));
    expect(log).toEqual(expect.arrayContaining(['module scope', 'child of one']));
    expect([...one.printed, ...other.printed].join()).not.toMatch(/module|child|later/);
  });

  it('get their own log messages and failures', async () => {
    const { one, other, log } = await startPair();
    const heard: unknown[][] = [[], []];
    [one, other].forEach(({ client }, index) => {
      client.setNotificationHandler('notifications/message', ({ params }) => void heard[index]?.push(params.data));
    });
    await Promise.all([call(one, 'log', { text: 'hello' }), call(other, 'fail', { text: 'broken' })]);
    await until(() => heard.every((messages) => messages.length > 0));
    expect(heard[0]).toEqual(['hello']);
    expect(String(heard[1])).toContain('Error: broken');
    expect([...one.printed, ...other.printed, ...log].join()).not.toMatch(/hello|broken/);
  });

  it('cancel their own calls', async () => {
    const { one, other } = await startPair();
    const cancelled = new AbortController();
    const waiting = one.client.callTool({ name: 'wait', arguments: {} }, { signal: cancelled.signal });
    const staying = call(other, 'wait');
    staying.catch(() => {});
    await until(() => one.printed.includes('waiting one') && other.printed.includes('waiting other'));
    cancelled.abort();
    await expect(waiting).rejects.toThrow();
    await until(() => one.printed.includes('cancelled one'));
    expect(textOf(await call(other, 'name'))).toBe('other');
    expect(other.printed).not.toContain('cancelled other');
  });

  it('end with their connection: calls are cancelled, close hooks run, and the neighbour goes on', async () => {
    const { one, other } = await startPair();
    const waiting = call(one, 'wait');
    waiting.catch(() => {});
    await until(() => one.printed.includes('waiting one'));
    await one.client.close();
    expect(one.printed).toEqual(expect.arrayContaining(['cancelled one', 'close one']));
    expect(textOf(await call(other, 'name'))).toBe('other');
  });

  it('are told of their own resources alone', async () => {
    const { one, other } = await startPair();
    const heard: string[] = [];
    [one, other].forEach(({ client }, index) => {
      client.setNotificationHandler('notifications/resources/updated', () => void heard.push(String(index)));
    });
    await Promise.all([one, other].map(({ client }) => client.subscribeResource({ uri: 'hosted://board' })));
    await call(one, 'pin', { text: 'mine' });
    await until(() => heard.length > 0);
    await call(other, 'name');
    expect(heard).toEqual(['0']);
    const { contents } = await other.client.readResource({ uri: 'hosted://board' });
    expect(contents).toMatchObject([{ text: 'empty' }]);
  });

  it('that is given up while it connects is no session of the host', async () => {
    const { host } = await startHost();
    const connection = host.connect({ session: 'late', harnessKey: createKey() });
    const connecting = connection.start();
    await connection.close();
    await expect(connecting).rejects.toThrow('was closed while it was opened');
    host.drain();
    expect(await host.ended).toMatchObject({ reason: 'asked', text: 'exited with code 0' });
  });

  it('are told of their own progress alone', async () => {
    const { one, other } = await startPair();
    const heard: [string[], string[]] = [[], []];
    const steps = ({ client }: TestSession, own: string[]) =>
      client.callTool({ name: 'steps', arguments: {} }, { onprogress: ({ message }) => void own.push(message ?? '') });
    const ended = Promise.all([steps(one, heard[0]), steps(other, heard[1])]);
    // A client drops the progress of a call that has been answered.
    await until(() => heard.every((own) => own.length > 0));
    await Promise.all([call(one, 'go_on'), call(other, 'go_on')]);
    await ended;
    expect(new Set(heard[0])).toEqual(new Set(['one']));
    expect(new Set(heard[1])).toEqual(new Set(['other']));
  });

  it('a session that prints without end loses lines, says how many, and holds nobody up', async () => {
    const { one, other } = await startPair();
    await Promise.all([call(one, 'print_much'), call(other, 'name')]);
    await one.client.close();
    expect(one.printed.some((line) => /^\d+ printed lines were dropped/.test(line))).toBe(true);
    expect(one.printed).toContain('close one');
  });
});
