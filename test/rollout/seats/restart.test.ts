import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { seatSchema } from '../../../src/contract/service/seat.ts';
import {
  GATE_HERE,
  openParts,
  startService,
  temporaryDirectory,
  traceIdOf,
  untilToolCalled,
} from '../../service/runs/service.ts';
import { spawnService } from '../../service/runs/service-process.ts';
import { openSeat, sitDown } from './seat.ts';

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 120_000 });

function temporaryPlaces() {
  const directory = temporaryDirectory();
  return { databaseUrl: `sqlite:${join(directory, 'proctor.db')}`, gate: join(directory, 'gate') };
}

const gateSeat = (file: string) => ({ env_name: 'gate', scenario_name: 'pass', scenario_args: { file } });

test('the next start ends a seat whose service was killed with kill -9, and no worker takes it for a run', async () => {
  const { databaseUrl, gate } = temporaryPlaces();
  const first = await spawnService(databaseUrl);
  const seat = seatSchema.parse((await first.request('/v1/agent/seats', gateSeat(gate))).json);
  const agent = await sitDown(seat);
  const waiting = agent.callTool({ name: 'wait', arguments: { file: gate } }).catch(String);
  const parts = await openParts(databaseUrl);
  await untilToolCalled(parts, seat.trace_id);
  const dead = once(first.child, 'exit');
  first.child.kill('SIGKILL');
  await dead;
  await waiting;
  expect((await parts.store.trace(seat.trace_id))?.status).toBe('running');

  const second = await spawnService(databaseUrl);
  expect((await second.request(`/v1/traces/${seat.trace_id}?wait=60`)).json).toMatchObject({
    status: 'failed',
    stop_reason: 'error',
    error: { boundary: 'worker', message: expect.stringContaining('The service that held the seat ended') },
    attempts: [{ attempt: 1, end: 'failed' }],
  });
  expect(await parts.database.kysely.selectFrom('queue').selectAll().execute()).toEqual([]);
  expect(await parts.database.kysely.selectFrom('seats').selectAll().execute()).toEqual([]);
  const { mcp } = seat;
  const elsewhere = { ...mcp, url: `${second.url}/mcp` };
  await expect(sitDown({ mcp: elsewhere })).rejects.toThrow(/404|no open seat/i);
});

test('SIGTERM fails the seats, and the process exits 0', async () => {
  const { databaseUrl, gate } = temporaryPlaces();
  const service = await spawnService(databaseUrl);
  const seat = seatSchema.parse((await service.request('/v1/agent/seats', gateSeat(gate))).json);
  const agent = await sitDown(seat);
  const waiting = agent.callTool({ name: 'wait', arguments: { file: gate } }).catch(String);
  const parts = await openParts(databaseUrl);
  await untilToolCalled(parts, seat.trace_id);
  const exited = once(service.child, 'exit');
  service.child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
  await waiting;
  expect(await parts.store.trace(seat.trace_id)).toMatchObject({
    status: 'failed',
    error: { boundary: 'worker', code: 'shutting_down' },
  });
});

test('another service of the same database leaves a seat alone whose owner is alive', async () => {
  const { databaseUrl, gate } = temporaryPlaces();
  const parts = await openParts(databaseUrl);
  const owner = await spawnService(databaseUrl);
  const seat = seatSchema.parse((await owner.request('/v1/agent/seats', gateSeat(gate))).json);
  const other = await startService({ parts });
  expect((await parts.store.trace(seat.trace_id))?.status).toBe('running');
  const ownSeat = await openSeat(other);
  expect((await parts.store.trace(ownSeat.trace_id))?.status).toBe('running');
  const agent = await sitDown(seat);
  writeFileSync(gate, '');
  await agent.callTool({ name: 'wait', arguments: { file: gate } });
  await agent.callTool({ name: 'submit_answer', arguments: { answer: 'open' } });
  expect(await other.ended(seat.trace_id)).toMatchObject({ status: 'completed', reward: 1 });
  // The owner hears of it by the database, where another service is asked to cancel.
  const cancelled = seatSchema.parse((await owner.request('/v1/agent/seats', gateSeat(gate))).json);
  await other.request(`/v1/traces/${cancelled.trace_id}/cancel`, { method: 'POST' });
  expect(await other.ended(cancelled.trace_id)).toMatchObject({ status: 'cancelled' });
});

test('a run goes back to the queue at once when the service stops, though a seat takes its time to end', async () => {
  const { gate } = temporaryPlaces();
  const service = await startService({ environments: new Map([['gate', GATE_HERE]]), shutdownGraceMs: 4_000 });
  const seat = await openSeat(service, gateSeat(gate));
  const agent = await sitDown(seat);
  const waiting = agent.callTool({ name: 'wait', arguments: { file: gate } }).catch(String);
  await untilToolCalled(service, seat.trace_id);
  // It is over, and its evaluation waits for the call that came before the answer.
  await agent.callTool({ name: 'submit_answer', arguments: { answer: 'open' } });
  const run = traceIdOf(await service.run({ ...gateSeat(gate), model: 'proctor/oracle' }));
  await untilToolCalled(service, run);
  const told: string[] = [];
  service.store.subscribe(run, (events) => told.push(...events.map(({ type }) => `run: ${type}`)));
  service.store.subscribe(seat.trace_id, (events) => told.push(...events.map(({ type }) => `seat: ${type}`)));
  await service.close();
  await waiting;
  expect(await service.store.trace(run)).toMatchObject({ status: 'queued', attempts: [{ end: 'released' }, {}] });
  expect(told).toContain('run: run.queued');
  expect(told.indexOf('run: run.queued')).toBeLessThan(told.indexOf('seat: run.finished'));
});
