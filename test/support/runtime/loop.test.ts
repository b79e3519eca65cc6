import { afterEach, expect, it } from 'vitest';
import { type Loop, type LoopOptions, startLoop } from '../../../src/support/runtime/loop.ts';
import { until } from '../../until.ts';

const NEVER_MS = 3_600_000;
const loops: Loop[] = [];

afterEach(async () => {
  await Promise.all(loops.splice(0).map((loop) => loop.stop()));
});

function start(options: Partial<LoopOptions> & Pick<LoopOptions, 'look'>): Loop {
  const loop = startLoop({ restMs: NEVER_MS, onError: () => {}, ...options });
  loops.push(loop);
  return loop;
}

it('rests first, unless it is told to look at once', async () => {
  const looks: string[] = [];
  start({ look: () => void looks.push('resting') });
  start({ look: () => void looks.push('at once'), looksAtOnce: true });
  await until(() => looks.length > 0);
  expect(looks).toEqual(['at once']);
});

it('looks again and again, resting as long as the last look has said', async () => {
  let looks = 0;
  start({ look: () => (++looks < 3 ? 0 : undefined), looksAtOnce: true });
  await until(() => looks === 3);
});

it('makes one look at a time, and one more for all wakes during a look', async () => {
  const ends: (() => void)[] = [];
  let atOnce = 0;
  let most = 0;
  const loop = start({
    async look() {
      most = Math.max(most, ++atOnce);
      await new Promise<void>((resolve) => ends.push(resolve));
      atOnce -= 1;
    },
  });
  loop.wake();
  await until(() => ends.length === 1);
  for (let index = 0; index < 5; index++) loop.wake();
  ends[0]?.();
  await until(() => ends.length === 2);
  ends[1]?.();
  await until(() => atOnce === 0);
  expect([ends.length, most]).toEqual([2, 1]);
});

it('takes the soonest wake', async () => {
  let looks = 0;
  const loop = start({ look: () => void looks++ });
  loop.wake(NEVER_MS / 2);
  loop.wake(1);
  loop.wake(NEVER_MS / 2);
  await until(() => looks === 1);
});

it('goes on after a look that failed, and tells of it', async () => {
  const errors: unknown[] = [];
  let looks = 0;
  const loop = start({
    look() {
      looks += 1;
      if (looks === 1) throw new Error('the database is away');
    },
    looksAtOnce: true,
    onError: (error) => errors.push(error),
  });
  await until(() => errors.length === 1);
  loop.wake();
  await until(() => looks === 2);
  expect(String(errors)).toContain('the database is away');
});

it('goes on where its error could not be told, and warns the process', async () => {
  const warnings: string[] = [];
  const listen = ({ message }: Error) => warnings.push(message);
  process.on('warning', listen);
  let looks = 0;
  start({
    look() {
      looks += 1;
      throw new Error('the database is away');
    },
    restMs: 1,
    looksAtOnce: true,
    onError() {
      throw new Error('the logger is closed');
    },
  });
  await until(() => looks > 1 && warnings.length > 0);
  process.off('warning', listen);
  expect(warnings[0]).toContain('the logger is closed');
});

it('stops when the look that goes on is over, whose signal is aborted, and never looks again', async () => {
  const events: string[] = [];
  const loop = start({
    look: (signal) =>
      new Promise<void>((resolve) => {
        events.push('look');
        signal.addEventListener('abort', () => {
          events.push('aborted');
          resolve();
        });
      }),
    looksAtOnce: true,
  });
  await until(() => events.length === 1);
  await loop.stop();
  loop.wake();
  await loop.stop();
  expect(events).toEqual(['look', 'aborted']);
});
