import { describe, expect, it } from 'vitest';
import type { ApiError } from '../../../src/contract/errors.ts';
import { StartLimiter, type StartPermit } from '../../../src/environment/process/start-limiter.ts';
import type { StartKind } from '../../../src/environment/process/waiting-line.ts';

describe('the line of starts', () => {
  it('starts at most as many processes at one time as its limit says', async () => {
    const line = new StartLimiter({ limit: 2 });
    const [first] = await Promise.all([line.enter('chat'), line.enter('chat')]);
    const third = watch(line.enter('chat'));
    expect(await third.isIn()).toBe(false);
    expect(line.figures).toEqual({ active: 0, starting: 2, limit: 2, waiting: 1 });
    first.ready();
    expect(await third.isIn()).toBe(true);
    expect(line.figures).toEqual({ active: 1, starting: 2, limit: 2, waiting: 0 });
  });

  it('gives the place of a start that failed to the next one', async () => {
    const line = new StartLimiter({ limit: 1 });
    const first = await line.enter('run');
    const second = watch(line.enter('run'));
    first.end();
    expect(await second.isIn()).toBe(true);
    expect(line.figures).toMatchObject({ active: 0, starting: 1 });
  });

  it('counts a process until it is gone, and once', async () => {
    const line = new StartLimiter({ limit: 1 });
    const place = await line.enter('run');
    place.ready();
    place.ready();
    expect(line.figures).toMatchObject({ active: 1, starting: 0 });
    place.end();
    place.end();
    expect(line.figures).toMatchObject({ active: 0, starting: 0 });
  });

  it('lets chat sessions and runs take turns, each in order of arrival, and spares only when nobody else waits', async () => {
    const line = new StartLimiter({ limit: 1 });
    let place = await line.enter('chat');
    const order: string[] = [];
    const join = async (kind: StartKind, name: string) => {
      const own = await line.enter(kind);
      order.push(name);
      place = own;
    };
    const joined = [
      join('spare', 'spare'),
      join('chat', 'chat 1'),
      join('chat', 'chat 2'),
      join('chat', 'chat 3'),
      join('run', 'run 1'),
      join('run', 'run 2'),
    ];
    for (const _ of joined) {
      place.ready();
      await settled();
    }
    await Promise.all(joined);
    expect(order).toEqual(['run 1', 'chat 1', 'run 2', 'chat 2', 'chat 3', 'spare']);
  });

  it('lets a client that goes away leave', async () => {
    const line = new StartLimiter({ limit: 1 });
    const place = await line.enter('chat');
    const client = new AbortController();
    const gone = expect(line.enter('chat', client.signal)).rejects.toThrow('The client went away');
    const next = watch(line.enter('chat'));
    client.abort(new Error('The client went away'));
    await gone;
    expect(line.figures.waiting).toBe(1);
    place.ready();
    expect(await next.isIn()).toBe(true);
    await expect(line.enter('chat', client.signal)).rejects.toThrow('The client went away');
  });

  it('refuses a start that has waited too long, with the numbers and a time to try again', async () => {
    const line = new StartLimiter({ limit: 1, waitMs: 20 });
    const place = await line.enter('chat');
    const refused = await line.enter('chat').catch((error: ApiError) => error);
    expect(refused).toMatchObject({ code: 'capacity_exceeded', headers: { 'retry-after': '1' } });
    expect(String(refused)).toContain('0 active, 1 starting (limit 1), 1 waiting');
    const run = watch(line.enter('run'));
    await expect(line.enter('chat')).rejects.toMatchObject({ code: 'capacity_exceeded' });
    expect(line.figures.waiting).toBe(1); // A run waits on: it is never refused.
    place.end();
    expect(await run.isIn()).toBe(true);
  });

  it('begins five hundred starts of clients that go away without losing a place', async () => {
    const line = new StartLimiter({ limit: 2 });
    const held = await Promise.all([line.enter('chat'), line.enter('chat')]);
    const clients = Array.from({ length: 500 }, () => new AbortController());
    const waits = clients.map(({ signal }) => line.enter('chat', signal).catch(() => undefined));
    for (const [index, client] of clients.entries()) if (index % 2 === 0) client.abort(new Error('gone'));
    for (const place of held) place.end();
    for (const wait of waits) (await wait)?.end();
    expect(line.figures).toEqual({ active: 0, starting: 0, limit: 2, waiting: 0 });
  });
});

function watch(place: Promise<StartPermit>): { isIn(): Promise<boolean> } {
  let isIn = false;
  void place.then(() => {
    isIn = true;
  });
  return {
    async isIn() {
      await settled();
      return isIn;
    },
  };
}

/** After every promise that can settle by itself has settled. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
