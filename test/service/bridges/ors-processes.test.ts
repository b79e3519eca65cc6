import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { createProject, start } from '../../cli/command.ts';
import { freePort } from '../../free-port.ts';
import { until } from '../../until.ts';
import { createOrsClient } from './ors-client.ts';

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 120_000 });

const SESSIONS = 40;

async function startOrs(cwd: string) {
  const port = await freePort();
  const command = start(['ors', 'counter', '--port', String(port), '--json'], { cwd });
  await command.prints(/"url"/);
  return { command, client: createOrsClient(`http://127.0.0.1:${port}`) };
}

async function tracesOf(cwd: string) {
  const database = await openDatabase(`sqlite:${join(cwd, '.proctor/proctor.db')}`);
  try {
    const store = createTraceStore(database, { appUrl: '' });
    const rows = await database.kysely.selectFrom('traces').select('trace_id').execute();
    const seats = await database.kysely.selectFrom('seats').select('trace_id').execute();
    return { seats, traces: await Promise.all(rows.map(({ trace_id }) => store.trace(trace_id))) };
  } finally {
    await database.close();
  }
}

test('sessions of a server that was killed fail at the next start; SIGTERM fails those that are open, and exits 0', async () => {
  const cwd = createProject('counter');
  const first = await startOrs(cwd);
  const sids = await Promise.all(
    Array.from({ length: SESSIONS }, () => first.client.create({ task_spec: { target: 1 } })),
  );
  await Promise.all(sids.map((sid) => first.client.call(sid, 'increment')));
  const dead = once(first.command.process, 'exit');
  first.command.process.kill('SIGKILL');
  await dead;
  const left = await tracesOf(cwd);
  expect(left.traces.map((trace) => trace?.status)).toEqual(sids.map(() => 'running'));

  const second = await startOrs(cwd);
  const failed = await until(async () => {
    const { traces } = await tracesOf(cwd);
    return traces.every((trace) => trace?.status === 'failed') && traces;
  });
  expect(failed.map((trace) => trace?.error?.boundary)).toEqual(sids.map(() => 'worker'));
  const sid = await second.client.create({ task_spec: { target: 1 } });
  await second.client.call(sid, 'increment');
  second.command.process.kill('SIGTERM');
  expect(await second.command.ended).toMatchObject({ code: 0 });
  const { traces, seats } = await tracesOf(cwd);
  expect(traces.filter((trace) => trace?.error?.code === 'shutting_down')).toHaveLength(1);
  expect(seats).toEqual([]);
});
