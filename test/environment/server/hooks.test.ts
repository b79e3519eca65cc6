import { EnvironmentServer, ToolError } from 'proctor';
import { describe, expect, it, vi } from 'vitest';
import { openInMemory } from '../../../src/environment/server/in-memory.ts';
import { until } from '../../until.ts';
import { AS_AGENT, connect, connectInMemory, errorOf, HARNESS, openMemory } from './clients.ts';
import { createExam } from './exam.ts';

const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
const isInitialize = (event: string) => event.startsWith('initialize');

/** Speaks JSON-RPC by hand, for what no client of the SDK does. */
function openRaw(environment: unknown, reports: string[] = []) {
  const transport = openMemory(environment, { report: (text) => reports.push(text) });
  const replies: { id?: number; method?: string; result?: object; error?: { code: number; message: string } }[] = [];
  transport.onmessage = (message) => void replies.push(message as (typeof replies)[number]);
  const send = (id: number, method: string, params: object = {}) =>
    transport.send({ jsonrpc: '2.0', id, method, params } as never);
  const reply = async (id: number) => {
    await until(() => replies.some((message) => message.id === id));
    return replies.find((message) => message.id === id);
  };
  return { send, reply, replies };
}

describe('the initialize hook', () => {
  it('runs inside initialize, with the display that the client names or 1920 by 1080', async () => {
    const events: string[] = [];
    await connectInMemory(createExam(events), { meta: { display_width: 800, display_height: 600 } });
    await connectInMemory(createExam(events));
    await connectInMemory(createExam(events), { meta: { display_width: 'wide', display_height: -1 } });
    expect(events.filter(isInitialize)).toEqual([
      'initialize 800x600 2025-11-25 tester',
      'initialize 1920x1080 2025-11-25 tester',
      'initialize 1920x1080 2025-11-25 tester',
    ]);
  });

  it('reports progress before the reply to initialize', async () => {
    const seen: unknown[] = [];
    await connectInMemory(createExam(), { onprogress: (progress) => seen.push(progress) });
    expect(seen).toEqual([
      { progress: 10, total: 100 },
      { progress: 90, total: 100 },
    ]);
  });

  it('makes every other request wait, and the reply to initialize comes first', async () => {
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const env = () => new EnvironmentServer({ name: 'e' }).initialize(() => gate);
    const { send, reply, replies } = openRaw(env);
    await send(1, 'initialize', HELLO);
    await send(2, 'tools/list');
    await send(3, 'ping');
    await reply(3);
    expect(replies.map(({ id }) => id)).toEqual([3]);
    open();
    await reply(2);
    expect(replies.map(({ id }) => id)).toEqual([3, 1, 2]);
  });

  it('is answered in our words when it fails, logged in full, and tried again at the next initialize', async () => {
    let runs = 0;
    const env = () =>
      new EnvironmentServer({ name: 'e' }).initialize(() => {
        runs += 1;
        if (runs === 1) throw new Error('no database', { cause: new Error('port closed') });
      });
    const reports: string[] = [];
    const { send, reply } = openRaw(env, reports);
    await send(1, 'initialize', HELLO);
    await send(2, 'tools/list');
    const message = 'The environment could not be initialized. Its log says why; initialize again to retry.';
    expect((await reply(1))?.error).toEqual({ code: -32603, message });
    expect((await reply(2))?.error?.code).toBe(-32603);
    expect(reports.join()).toMatch(/no database[\s\S]*port closed/);
    await send(3, 'tools/list');
    expect((await reply(3))?.error?.message).toContain('send initialize first');
    await send(4, 'initialize', HELLO);
    expect((await reply(4))?.result).toMatchObject({ protocolVersion: '2025-06-18' });
    await send(5, 'tools/list');
    expect((await reply(5))?.result).toBeDefined();
  });

  it.each(['legacy', 'modern'] as const)(
    'failing with a ToolError gives its words to a harness alone (%s)',
    async (mode) => {
      const env = () =>
        new EnvironmentServer({ name: 'e' })
          .tool('t', {}, () => 'done')
          .initialize(async () => {
            throw new ToolError('Start the database first');
          });
      const told = async (meta: object) => {
        const client = connectInMemory(env, { mode, meta: { ...meta } });
        return (await errorOf(client.then((it) => it.callTool({ name: 't' })))).message;
      };
      expect(await told(HARNESS)).toContain('could not be initialized: Start the database first');
      for (const agent of [{}, AS_AGENT._meta]) expect(await told(agent)).toMatch(/initialized\. Its log says why/);
    },
  );

  it('failing for several that wait tells each what it may know', async () => {
    let fail = () => {};
    const gate = new Promise<void>((_resolve, reject) => {
      fail = () => reject(new ToolError('Start the database first'));
    });
    const env = new EnvironmentServer({ name: 'e' }).tool('t', {}, () => 'done').initialize(() => gate);
    const client = await connectInMemory(env, { mode: 'modern' });
    const agent = errorOf(client.callTool({ name: 't' }));
    const harness = errorOf(client.callTool({ name: 't', _meta: HARNESS }));
    await client.ping().catch(() => {});
    fail();
    expect([(await agent).message, (await harness).message]).toEqual([
      expect.stringContaining('Its log says why'),
      expect.stringContaining('Start the database first'),
    ]);
  });

  it('runs once for two handshakes at the same time, of which one succeeds', async () => {
    const events: string[] = [];
    const { send, reply } = openRaw(createExam(events));
    await Promise.all([send(1, 'initialize', HELLO), send(2, 'initialize', HELLO)]);
    expect((await reply(1))?.result).toBeDefined();
    expect((await reply(2))?.error).toMatchObject({ code: -32600 });
    expect(events.filter(isInitialize)).toHaveLength(1);
  });

  it('runs once for each session, with a shared instance too', async () => {
    const events: string[] = [];
    const shared = createExam(events)();
    await connectInMemory(shared, { meta: { display_width: 1 } });
    await connectInMemory(shared, { meta: { display_width: 2 } });
    expect(events.filter(isInitialize).map((event) => event.split(' ')[1])).toEqual(['1x1080', '2x1080']);
  });

  it('runs on 2026-07-28 before the first request that needs it, once', async () => {
    const events: string[] = [];
    const client = await connectInMemory(createExam(events), { mode: 'modern', meta: { display_width: 640 } });
    await client.listTools();
    await client.readResource({ uri: 'svc://scenarios' });
    await errorOf(client.callTool({ name: 'setup' }));
    await errorOf(client.callTool({ name: 'nope' }));
    expect(events).toEqual([]);
    await Promise.all([client.callTool({ name: 'increment' }), client.readResource({ uri: 'exam://rules' })]);
    expect(events).toEqual(['initialize 640x1080 2026-07-28 tester']);
  });

  it('that ends on 2026-07-28 because its request was cancelled runs anew for those that wait', async () => {
    const begun: (number | string | undefined)[] = [];
    const env = () =>
      new EnvironmentServer({ name: 'e' })
        .initialize(async ({ signal, meta, progress }) => {
          begun.push(meta.display_width);
          if (begun.length === 1) {
            await new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason), { once: true });
            });
          }
          progress(50);
        })
        .tool('ready', {}, () => 'ready');
    const client = await connectInMemory(env, { mode: 'modern' });
    const aborter = new AbortController();
    const first = { name: 'ready', _meta: { display_width: 1 } };
    const cancelled = errorOf(client.callTool(first, { signal: aborter.signal }));
    await until(() => begun.length === 1);
    const seen: number[] = [];
    const second = { name: 'ready', _meta: { display_width: 2 } };
    const waiting = client.callTool(second, { onprogress: ({ progress }) => seen.push(progress) });
    await client.listTools();
    aborter.abort();
    await cancelled;
    expect((await waiting).content).toEqual([{ type: 'text', text: 'ready' }]);
    expect([begun, seen]).toEqual([[1, 2], [50]]);
  });

  it('fails on 2026-07-28 the request that needed it, and is tried again by the next', async () => {
    let runs = 0;
    const env = () =>
      new EnvironmentServer({ name: 'e' })
        .initialize(() => {
          runs += 1;
          if (runs === 1) throw new Error('no database');
        })
        .tool('go', {}, () => 'gone');
    const client = await connectInMemory(env, { mode: 'modern' });
    expect(await errorOf(client.callTool({ name: 'go' }))).toMatchObject({
      code: -32603,
      message: expect.not.stringContaining('no database'),
    });
    expect(await client.callTool({ name: 'go' })).toMatchObject({ content: [{ text: 'gone' }] });
  });

  it('has standard output redirected to standard error while it runs, and only then', async () => {
    const stdout = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      const env = () =>
        new EnvironmentServer({ name: 'e' })
          .initialize(() => {
            process.stdout.write('by the hook');
          })
          .tool('print', {}, () => {
            process.stdout.write('by the tool');
          });
      const client = await connectInMemory(env);
      await client.callTool({ name: 'print' });
      expect(stderr).toHaveBeenCalledWith('by the hook');
      expect(stdout).not.toHaveBeenCalledWith('by the hook');
      expect(stdout).toHaveBeenCalledWith('by the tool');
    } finally {
      stdout.mockRestore();
      stderr.mockRestore();
    }
  });
});

describe('an initialize hook that hangs', () => {
  it('does not hold standard output when its client has gone', async () => {
    const env = () => new EnvironmentServer({ name: 'e' }).initialize(() => new Promise<void>(() => {}));
    const original = process.stdout.write;
    const transport = openMemory(env);
    const connecting = connect(transport).catch((error: unknown) => error);
    await until(() => process.stdout.write !== original);
    await transport.close();
    await connecting;
    await until(() => process.stdout.write === original);
  });
});

describe('the close hooks', () => {
  it('run in reverse when a session ends, after its scenario, and shutdown hooks do not', async () => {
    const events: string[] = [];
    const client = await connectInMemory(createExam(events));
    await client.getPrompt({ name: 'count_to', arguments: { target: '1' } });
    await client.close();
    await until(() => events.includes('close 1'));
    expect(events.slice(1)).toEqual(['closed count_to', 'close 2', 'close 1']);
  });

  it('run all, also where one fails, and once', async () => {
    const events: string[] = [];
    const env = () =>
      new EnvironmentServer({ name: 'e' })
        .close(() => void events.push('first'))
        .close(() => {
          throw new Error('broken');
        })
        .close(() => void events.push('last'));
    const reports: string[] = [];
    const opened = openInMemory(env, { report: (text) => reports.push(text) });
    const client = await connect(opened.clientTransport as never);
    await Promise.all([client.close(), opened.close()]);
    await opened.close();
    expect(events).toEqual(['last', 'first']);
    expect(reports.join()).toContain('broken');
  });

  it('do not run for a session that never began', async () => {
    const events: string[] = [];
    const opened = openInMemory(createExam(events));
    const client = await connect(opened.clientTransport as never, { mode: 'modern' });
    await client.listTools();
    await opened.close();
    expect(events).toEqual([]);
  });

  it('run after an initialize that failed, because it may have left something behind', async () => {
    const events: string[] = [];
    const env = () =>
      new EnvironmentServer({ name: 'e' })
        .initialize(() => {
          throw new Error('half way');
        })
        .close(() => void events.push('close'));
    const opened = openInMemory(env, { report: () => {} });
    await expect(connect(opened.clientTransport as never)).rejects.toThrow(/could not be initialized/);
    await opened.close();
    expect(events).toEqual(['close']);
  });
});

describe('an environment in memory', () => {
  it('is refused at once when it is none', () => {
    expect(() => openInMemory(7)).toThrow(/found 7/);
  });
});
