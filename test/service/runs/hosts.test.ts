import { expect, test } from 'vitest';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { answersOf, gateIn, HOSTED, play, untilAnswered } from '../../faults/hosted.ts';
import { startService, temporaryDirectory, traceIdOf } from './service.ts';

const error = { boundary: 'environment', code: 'environment_failed' };

test('a run that exits beside another one costs that an attempt, and fails when it exits alone', async () => {
  const target: EnvironmentTarget = { kind: 'module', path: HOSTED, limits: { sessionsPerProcess: 2 } };
  const service = await startService({ environments: new Map([['hosted', target]]), worker: { hosts: 1 } });
  const { store } = service;
  const directory = temporaryDirectory();
  const [exit, gate] = [gateIn(directory, 'exit'), gateIn(directory, 'gate')];
  const guilty = traceIdOf(await service.run(play(['who'], exit.call, ['exit'])));
  const neighbour = traceIdOf(await service.run(play(['who'], gate.call)));
  const host = await untilAnswered(store, guilty, 1);
  expect(await untilAnswered(store, neighbour, 1)).toBe(host);
  exit.open();
  expect(await service.ended(guilty)).toMatchObject({
    status: 'failed',
    attempt: 2,
    error: { ...error, message: expect.stringContaining('exited with code 7') },
    attempts: [
      { end: 'lost', error: { ...error, message: expect.stringContaining('process.exit(7)') } },
      { end: 'failed' },
    ],
  });
  gate.open();
  expect(await service.ended(neighbour)).toMatchObject({
    status: 'completed',
    reward: 1,
    attempt: 2,
    attempts: [
      { end: 'lost', error: { ...error, message: expect.stringContaining('by the code of another session') } },
      { end: 'completed', error: null },
    ],
  });
  const again = await Promise.all([guilty, neighbour].map((id) => answersOf(store, id, 2)));
  const [first, second] = again.map(([answer]) => answer?.pid);
  expect(new Set([host, first, second]).size).toBe(3);
}, 90_000);
