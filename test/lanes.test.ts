import { readdirSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { laneOf, SLOW_TESTS } from './lanes.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

it('every pattern of the slow lane names a test', () => {
  const tests = ['test', 'environments'].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'))
      .map((path) => `${folder}/${path}`),
  );
  expect(SLOW_TESTS.filter((pattern) => !tests.some((test) => matchesGlob(test, pattern)))).toEqual([]);
});

it('a lane that does not exist is refused by name', () => {
  expect([laneOf(undefined), laneOf(''), laneOf('fast'), laneOf('slow')]).toEqual([
    undefined,
    undefined,
    'fast',
    'slow',
  ]);
  expect(() => laneOf('quick')).toThrow('TEST_LANE is "quick": it takes fast or slow');
});
