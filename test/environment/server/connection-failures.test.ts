import { describe, expect, it } from 'vitest';
import { freePort } from '../../free-port.ts';
import { until } from '../../until.ts';
import { everything, odd } from '../composition/servers.ts';
import { connectInMemory, errorOf, textOf } from './clients.ts';
import { call, environment, open, received, startEverything, stopEverything, toolNames } from './composed.ts';

describe('a connected server that fails', () => {
  it.each(['legacy', 'modern'] as const)(
    'at start fails the initialization, and its last words are for the log (%s)',
    async (mode) => {
      const reports: string[] = [];
      const opening = open(odd('dies'), {}, { mode, report: (text) => reports.push(text) });
      const { message } = await errorOf(mode === 'legacy' ? opening : opening.then(toolNames));
      expect(message).toContain('The environment could not be initialized. Its log says why');
      expect(message).not.toContain('database');
      expect(reports.join('\n')).toContain(
        'The connected server other could not be started: it exited with code 3. Its last lines on standard error:\nno such database',
      );
    },
  );

  it('because there is no such program, or no such address, says so in the log', async () => {
    const reports: string[] = [];
    const report = (text: string) => reports.push(text);
    await errorOf(open({ command: 'no-such-program' }, {}, { report }));
    expect(reports.join('\n')).toContain(
      'The connected server other could not be started: it could not be started (spawn',
    );
    const free = await freePort();
    await errorOf(open({ url: `http://127.0.0.1:${free}/mcp` }, {}, { report }));
    expect(reports.join('\n')).toMatch(/could not be started: it failed: .*ECONNREFUSED/);
    await errorOf(open({ server: {} }, {}, { report }));
    expect(reports.join('\n')).toContain('neither an environment nor an MCP server');
  });

  it('because of its names, says which and what to do', async () => {
    const reports: string[] = [];
    const report = (text: string) => reports.push(text);
    await errorOf(open(odd('bad-name'), { prefix: 'odd' }, { report }));
    expect(reports.join('\n')).toContain('its tool "read.file", here "odd_read.file", which has to match');
    await errorOf(open(odd('reserved'), {}, { report }));
    expect(reports.join('\n')).toContain(
      'the tool "setup", a name that is taken in this environment: give it a prefix',
    );
    await errorOf(open(odd('endless'), {}, { report }));
    expect(reports.join('\n')).toContain('gave more than 100 pages of tools');
    const twice = () => environment(everything)().connect('again', everything, { prefix: 'again' });
    await errorOf(connectInMemory(twice, { report }));
    expect(reports.join('\n')).toContain(
      'The connected server again has the resource "demo://resource/static/document/architecture.md", a name that is taken',
    );
    const own = () => environment(everything)().tool('echo', {}, () => '');
    await errorOf(connectInMemory(own, { report }));
    expect(reports.join('\n')).toContain('The connected server other has the tool "echo", a name that is taken');
  });

  it('by a kill in the middle of a call makes that a tool error, and is started again by the next', async () => {
    const reports: string[] = [];
    const client = await open(odd('plain'), {}, { report: (text) => reports.push(text) });
    const { pid } = await received(client);
    const hanging = call(client, 'hang');
    process.kill(pid, 'SIGKILL');
    const lost = await hanging;
    expect(lost.isError).toBe(true);
    expect(textOf(lost)).toBe(
      'The connected server other was ended by the signal SIGKILL before it had answered. It is started again at the next call; what it held in memory is lost',
    );
    expect(textOf(await call(client, 'own'))).toBe('mine');
    const next = await received(client);
    expect(next.pid).not.toBe(pid);
    process.kill(next.pid, 'SIGKILL');
    await until(() => reports.filter((text) => text.includes('SIGKILL')).length === 2);
    const between = await call(client, 'received');
    expect(between.isError).toBe(true);
    expect(textOf(between)).toBe(
      'The connected server other was ended by the signal SIGKILL. It is started again at the next call; what it held in memory is lost',
    );
    expect((await received(client)).pid).not.toBe(next.pid);
    const exited = await call(client, 'exit');
    expect(textOf(exited)).toContain('exited with code 7');
    expect(textOf(exited)).not.toContain('disk');
    expect(reports.join('\n')).toContain('exited with code 7. Its last lines on standard error:\nthe disk is full');
  });

  it('again and again is not started more than five times a minute', async () => {
    const client = await open(odd('plain'));
    for (let crash = 0; crash < 6; crash += 1)
      expect(textOf(await call(client, 'exit'))).toContain('exited with code 7');
    const refused = await call(client, 'received');
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toMatch(/has been started again 5 times within a minute\. The next time is in \d+ s/);
    expect(textOf(await call(client, 'own'))).toBe('mine');
  });

  it('at its address is a tool error, and is connected to again by the next call', async () => {
    const port = await startEverything('streamableHttp');
    const client = await open({ url: `http://127.0.0.1:${port}/mcp` });
    const params = { name: 'trigger-long-running-operation', arguments: { duration: 1_000, steps: 100_000 } };
    let lost: unknown;
    await new Promise<void>((resolve) => {
      lost = client.callTool(params, { onprogress: () => resolve() });
    });
    await stopEverything(port);
    const result = (await lost) as { readonly content: unknown; readonly isError?: boolean };
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('The connected server other could not be reached any more before it had answered');
    expect(textOf(await call(client, 'echo', { message: 'x' }))).toContain('could not be connected to again');
    await startEverything('streamableHttp', port);
    expect(textOf(await call(client, 'echo', { message: 'back' }))).toBe('Echo: back');
  });

  it('to keep to the protocol breaks nothing', async () => {
    const client = await open(odd('pages'));
    expect(textOf(await call(client, 'garbage'))).toBe('still here');
    expect(textOf(await call(client, 'deep'))).toContain('gave an answer that is nested more than 200 deep');
    expect(textOf(await call(client, 'odd_schema', { a: 1 }))).toBe('odd_schema was called');
    expect(textOf(await call(client, 'async_schema'))).toBe('async_schema was called');
    expect(textOf(await call(client, 'own'))).toBe('mine');
  });

  it('to answer is given up with its call', async () => {
    const client = await open(odd('plain'));
    const aborter = new AbortController();
    const hanging = client.callTool({ name: 'hang' }, { signal: aborter.signal });
    aborter.abort(new Error('enough'));
    await expect(hanging).rejects.toThrow('enough');
    expect(textOf(await call(client, 'own'))).toBe('mine');
  });
});
