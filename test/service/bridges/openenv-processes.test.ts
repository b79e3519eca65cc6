import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { createProject, start } from '../../cli/command.ts';
import { freePort } from '../../free-port.ts';
import { until } from '../../until.ts';
import { connectOpenEnv } from './openenv-client.ts';

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 240_000 });

const SESSIONS = Number(process.env.OPENENV_SESSIONS ?? 40);

async function startOpenEnv(cwd: string) {
  const port = await freePort();
  const command = start(['openenv', 'counter', '--scenario', 'count_to', '--port', String(port), '--json'], { cwd });
  await command.prints(/"url"/);
  return { command, connect: () => connectOpenEnv(`http://127.0.0.1:${port}`) };
}

async function tracesOf(cwd: string) {
  const database = await openDatabase(`sqlite:${join(cwd, '.proctor/proctor.db')}`);
  try {
    const store = createTraceStore(database, { appUrl: '' });
    const rows = await database.kysely.selectFrom('traces').select('trace_id').execute();
    return await Promise.all(rows.map(({ trace_id }) => store.trace(trace_id)));
  } finally {
    await database.close();
  }
}

test('episodes of a server that was killed fail at the next start; SIGTERM fails those that are open, and exits 0', async () => {
  const cwd = createProject('counter');
  const first = await startOpenEnv(cwd);
  const clients = await Promise.all(Array.from({ length: SESSIONS }, first.connect));
  await Promise.all(clients.map((client) => client.reset({ target: 1 })));
  await Promise.all(clients.map((client) => client.call('increment')));
  const dead = once(first.command.process, 'exit');
  first.command.process.kill('SIGKILL');
  await dead;
  await Promise.all(clients.map((client) => client.closed));
  expect((await tracesOf(cwd)).map((trace) => trace?.status)).toEqual(clients.map(() => 'running'));

  const second = await startOpenEnv(cwd);
  const failed = await until(async () => {
    const traces = await tracesOf(cwd);
    return traces.every((trace) => trace?.status === 'failed') && traces;
  });
  expect(failed.map((trace) => trace?.error?.boundary)).toEqual(clients.map(() => 'worker'));
  const client = await second.connect();
  await client.reset({ target: 1 });
  second.command.process.kill('SIGTERM');
  expect(await client.next()).toMatchObject({ type: 'error', data: { code: 'SESSION_ERROR' } });
  expect(await second.command.ended).toMatchObject({ code: 0 });
  expect((await tracesOf(cwd)).filter((trace) => trace?.error?.code === 'shutting_down')).toHaveLength(1);
});
