import { EnvironmentServer, serve } from 'proctor';
import { type Clock, fakeClock, openEnvironment } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openSession, rpc, send } from '../../environment/server/raw-http.ts';

describe('a fake clock', () => {
  it('stands still until it is moved', async () => {
    const clock = fakeClock(1_000);
    expect(clock.now()).toBe(1_000);
    await clock.advance(250);
    expect(clock.now()).toBe(1_250);
    expect(fakeClock().now()).toBe(0);
  });

  it('wakes who is due in order, each at its own time', async () => {
    const clock = fakeClock();
    const woken: string[] = [];
    const rest = async (name: string, milliseconds: number) => {
      await clock.sleep(milliseconds);
      woken.push(`${name} at ${clock.now()}`);
    };
    const all = Promise.all([rest('late', 300), rest('early', 100), rest('also early', 100), rest('never', 1_000)]);
    await clock.advance(300);
    expect(woken).toEqual(['early at 100', 'also early at 100', 'late at 300']);
    expect(clock.now()).toBe(300);
    await clock.advance(700);
    await all;
  });

  it('wakes one that sleeps again within the span again', async () => {
    const clock = fakeClock();
    const ticks: number[] = [];
    const tick = async () => {
      for (let count = 0; count < 3; count += 1) {
        await clock.sleep(10);
        ticks.push(clock.now());
      }
    };
    const ticking = tick();
    await clock.advance(100);
    await ticking;
    expect(ticks).toEqual([10, 20, 30]);
    expect(clock.now()).toBe(100);
  });

  it('rejects a sleep with the reason of its signal, and forgets it', async () => {
    const clock = fakeClock();
    const abort = new AbortController();
    const sleep = clock.sleep(100, abort.signal);
    const rejected = expect(sleep).rejects.toThrow('enough');
    abort.abort(new Error('enough'));
    await rejected;
    await expect(clock.sleep(100, abort.signal)).rejects.toThrow('enough');
    let isWoken = false;
    const sleeping = clock.sleeping().then(() => {
      isWoken = true;
    });
    await clock.advance(1_000);
    expect(isWoken).toBe(false);
    void clock.sleep(1);
    await sleeping;
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('cannot be moved by %s', async (milliseconds) => {
    await expect(fakeClock().advance(milliseconds)).rejects.toThrow(RangeError);
  });

  it('cannot be slept by NaN, which would take it with it', async () => {
    const clock = fakeClock(5);
    await expect(clock.sleep(Number.NaN)).rejects.toThrow(RangeError);
    await clock.advance(1);
    expect(clock.now()).toBe(6);
  });

  it('is the time of an environment that is given one', async () => {
    const clock = fakeClock();
    const oven = ({ now, sleep }: Clock) =>
      new EnvironmentServer({ name: 'oven' }).tool('bake', { args: { ms: z.int() } }, async ({ ms }, { signal }) => {
        const from = now();
        await sleep(ms, signal);
        return `baked for ${now() - from} ms`;
      });
    await using env = await openEnvironment(() => oven(clock));
    const baking = env.agent.call('bake', { ms: 3_600_000 });
    await clock.sleeping();
    await clock.advance(3_600_000);
    expect((await baking).text).toBe('baked for 3600000 ms');
  });

  it('is the time of a server: a session expires when it was idle for too long', async () => {
    const clock = fakeClock();
    let close = () => {};
    const closed = new Promise<void>((resolve) => {
      close = resolve;
    });
    const environment = () => new EnvironmentServer({ name: 'idle' }).close(() => close());
    const server = await serve(environment, { transport: 'http', port: 0, idleTimeoutMs: 40, now: clock.now });
    const url = server.url ?? '';
    try {
      const headers = { 'mcp-session-id': await openSession(url), 'mcp-protocol-version': '2025-11-25' };
      const list = async () => (await send(url, { headers, body: rpc('tools/list') })).status;
      expect(await list()).toBe(200);
      await clock.advance(41);
      await closed; // The server looks at its clock from time to time, in real time.
      expect(await list()).toBe(404);
    } finally {
      await server.close();
    }
  });
});
