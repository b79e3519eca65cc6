import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { errorOf, textOf } from '../server/clients.ts';
import { connectTo, startDev } from './dev-server.ts';
import { createLab } from './project.ts';

const PATIENCE = { timeout: 60_000 } as const;

describe('calls across a reload', PATIENCE, () => {
  it('in a loop, none fails', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const { client, changed } = await connectTo(server);
    const seen = new Set<string>();
    lab.change("'v1'", "'v2'");
    const call20 = async () => {
      for (let call = 0; call < 20; call += 1) seen.add(textOf(await client.callTool({ name: 'version' })));
    };
    await until(async () => {
      await call20();
      return changed.length >= 3;
    });
    await call20();
    expect([...seen].at(-1)).toBe('v2');
    expect([...seen].every((text) => text === 'v1' || text === 'v2')).toBe(true);
  });

  it('that run may end on the old version', async () => {
    const lab = createLab();
    const server = await startDev(lab, { callGraceMs: 30_000 });
    const { client } = await connectTo(server);
    const path = join(lab.directory, 'there');
    const call = client.callTool({ name: 'wait_for', arguments: { path } });
    await server.says('waiting');
    lab.change("'v1'", "'v2'");
    await server.says('Reloaded in');
    expect(textOf(await client.callTool({ name: 'version' }))).toBe('v2');
    writeFileSync(path, '');
    expect(textOf(await call)).toBe('it is there');
    await server.says('close hook');
  });

  it('that do not end in time are answered with an error', async () => {
    const lab = createLab();
    const server = await startDev(lab, { callGraceMs: 50 });
    const { client } = await connectTo(server);
    const call = errorOf(client.callTool({ name: 'stay' }));
    await server.says('staying');
    lab.change("'v1'", "'v2'");
    expect(await call).toMatchObject({ code: -32603, message: expect.stringContaining('did not end within 50 ms') });
    expect(textOf(await client.callTool({ name: 'version' }))).toBe('v2');
  });

  it('keeps the questions of two versions apart', async () => {
    const lab = createLab();
    const server = await startDev(lab, { callGraceMs: 30_000 });
    const { client } = await connectTo(server, { capabilities: { elicitation: {} } });
    const questions: { message: string; answer(action: 'accept' | 'decline'): void }[] = [];
    client.setRequestHandler('elicitation/create', ({ params }) => {
      return new Promise((resolve) => {
        questions.push({ message: params.message, answer: (action) => resolve({ action }) });
      });
    });
    const first = client.callTool({ name: 'ask' });
    await until(() => questions.length === 1);
    lab.change('from v1', 'from v2');
    await server.says('Reloaded in');
    const second = client.callTool({ name: 'ask' });
    await until(() => questions.length === 2);
    expect(questions.map(({ message }) => message)).toEqual(['from v1', 'from v2']);
    questions[1]?.answer('decline');
    questions[0]?.answer('accept');
    expect([textOf(await first), textOf(await second)]).toEqual(['accept', 'decline']);
  });

  it('have their progress, and the level of logging stays', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const { client } = await connectTo(server);
    const logged: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params.data));
    await client.setLoggingLevel('debug');
    lab.change("'v1'", "'v2'");
    await server.says('Reloaded in');
    const progress: number[] = [];
    await client.callTool({ name: 'steps' }, { onprogress: ({ progress: at }) => void progress.push(at) });
    expect(progress).toEqual([50]);
    await client.callTool({ name: 'log' });
    expect(logged).toEqual(['a debug line']);
  });
});
