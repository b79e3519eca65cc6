import { expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import { LiveSessions, type LiveSessionsOptions } from '../../../src/rollout/live-sessions.ts';

interface Session {
  readonly id: string;
}

const SHUT_DOWN = new ApiError('shutting_down', 'The server was shut down');

function hold(options: Partial<LiveSessionsOptions<Session>> = {}) {
  const failed: string[] = [];
  const live = new LiveSessions<Session>({
    idOf: ({ id }) => id,
    fail: async ({ id }) => void failed.push(id),
    ...options,
  });
  return { live, failed };
}

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

it('counts a session from the beginning of its start, and no more when its start failed', async () => {
  const { live } = hold({ maxSessions: 1 });
  const { open, opened } = gate();
  const starting = live.start(async () => {
    await opened;
    throw new Error('the disk is full');
  });
  await expect(live.start(async () => ({ id: 'second' }))).rejects.toMatchObject({ code: 'capacity_exceeded' });
  open();
  await expect(starting).rejects.toThrow('the disk is full');
  expect(await live.start(async () => ({ id: 'third' }))).toEqual({ id: 'third' });
});

it('gives the room of a session that its client has left to another, and at most as many again', async () => {
  const { live } = hold({ maxSessions: 1 });
  await live.start(async () => ({ id: 'first' }));
  live.leave('first');
  await live.start(async () => ({ id: 'second' }));
  live.leave('second');
  await expect(live.start(async () => ({ id: 'third' }))).rejects.toMatchObject({ code: 'capacity_exceeded' });
  live.drop('first');
  await live.start(async () => ({ id: 'third' }));
  expect([live.size, live.isHolding]).toEqual([1, true]);
});

it('ends a session that was being made while it was closed, waits for that, and starts no more', async () => {
  const { live, failed } = hold();
  const { open, opened } = gate();
  const starting = live.start(async () => {
    await opened;
    return { id: 'late' };
  });
  const started = expect(starting).rejects.toBe(SHUT_DOWN);
  const closing = live.close(SHUT_DOWN, async () => {});
  open();
  await closing;
  expect(failed).toEqual(['late']);
  await started;
  await expect(live.start(async () => ({ id: 'later' }))).rejects.toBe(SHUT_DOWN);
});

it('is closed when the ends of its sessions are written, and tells of one that could not be', async () => {
  const told: unknown[] = [];
  const { open, opened } = gate();
  const { live } = hold({
    async follow({ id }) {
      await opened;
      live.drop(id);
      throw new Error('the database is away');
    },
    onError: (error, id) => told.push([id, String(error)]),
  });
  await live.start(async () => ({ id: 'first' }));
  await live.close(SHUT_DOWN, async () => open());
  expect([told, live.isHolding]).toEqual([[['first', 'Error: the database is away']], false]);
});
