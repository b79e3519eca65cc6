import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { expect, test, vi } from 'vitest';
import { type Seat, seatSchema } from '../../../src/contract/service/seat.ts';
import { calls, startModels } from '../../gateway.ts';
import { openParts, temporaryDirectory, untilToolCalled } from '../../service/runs/service.ts';
import { type ServiceProcess, spawnService } from '../../service/runs/service-process.ts';
import { until } from '../../until.ts';
import { secretOf, sitDown } from './seat.ts';

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 120_000 });

async function twoProcesses() {
  const directory = temporaryDirectory();
  const databaseUrl = `sqlite:${join(directory, 'proctor.db')}`;
  const file = join(directory, 'gate');
  const { gateway } = await startModels([calls(['wait', { file }])]);
  const owner = await spawnService(databaseUrl, gateway.url);
  const other = await spawnService(databaseUrl, gateway.url);
  const request = { env_name: 'gate', scenario_name: 'pass', scenario_args: { file }, model: 'gpt-test' };
  const open = async () => seatSchema.parse((await owner.request('/v1/agent/seats', request)).json);
  return { owner, other, file, gateway, open, parts: await openParts(databaseUrl) };
}

const at = ({ url }: ServiceProcess, seat: Seat): Seat => ({ ...seat, mcp: { ...seat.mcp, url: `${url}/mcp` } });

function modelOf({ url }: ServiceProcess, seat: Seat) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: secretOf(seat), maxRetries: 0 });
  const tool = {
    type: 'function' as const,
    function: { name: 'wait', parameters: { type: 'object', properties: {} } },
  };
  return (tools: boolean) =>
    client.chat.completions.create({
      model: 'any',
      messages: [{ role: 'user', content: 'Go' }],
      ...(tools ? { tools: [tool] } : {}),
    });
}

test('an agent plays a seat of one process at another one, calls of tools and of its model alike', async () => {
  const { owner, other, file, open } = await twoProcesses();
  const seat = await open();
  const agent = await sitDown(at(other, seat));
  await agent.listTools();
  expect((await modelOf(other, seat)(true)).choices[0]?.finish_reason).toBe('tool_calls');
  writeFileSync(file, '');
  await agent.callTool({ name: 'wait', arguments: { file } });
  await agent.callTool({ name: 'submit_answer', arguments: { answer: 'open' } });
  const trace = await owner.request(`/v1/traces/${seat.trace_id}?wait=60`);
  expect(trace.json).toMatchObject({ status: 'completed', reward: 1, usage: { model_calls: 1, tool_calls: 1 } });
});

test('when the owner is killed with kill -9, what waits breaks off, and what comes is told that the seat is over', async () => {
  const { owner, other, file, open, parts } = await twoProcesses();
  const seat = await open();
  const agent = await sitDown(at(other, seat));
  await agent.listTools();
  const ask = modelOf(other, seat);
  await ask(true);
  const waiting = expect(agent.callTool({ name: 'wait', arguments: { file } })).rejects.toThrow();
  await untilToolCalled(parts, seat.trace_id);
  const dead = once(owner.child, 'exit');
  owner.child.kill('SIGKILL');
  await dead;
  await waiting;
  await expect(ask(true)).rejects.toMatchObject({ status: 400, code: 'run_finished' });
  await expect(sitDown(at(other, seat))).rejects.toThrow(/404|no open seat/i);
  // The process that goes on ends the trace and forgets the row; the answer stays the same.
  expect((await other.request(`/v1/traces/${seat.trace_id}?wait=60`)).json).toMatchObject({
    status: 'failed',
    error: { boundary: 'worker' },
  });
  await until(async () => (await parts.database.kysely.selectFrom('seats').selectAll().execute()).length === 0);
  await expect(ask(false)).rejects.toMatchObject({ status: 400, code: 'run_finished' });
});

test('when the process in between is killed, the seat goes on at its owner', async () => {
  const { owner, other, file, open, parts } = await twoProcesses();
  const seat = await open();
  const agent = await sitDown(at(other, seat));
  const waiting = expect(agent.callTool({ name: 'wait', arguments: { file } })).rejects.toThrow();
  await untilToolCalled(parts, seat.trace_id);
  const dead = once(other.child, 'exit');
  other.child.kill('SIGKILL');
  await dead;
  await waiting;
  writeFileSync(file, '');
  const again = await sitDown(seat);
  await again.callTool({ name: 'submit_answer', arguments: { answer: 'open' } });
  expect((await owner.request(`/v1/traces/${seat.trace_id}?wait=60`)).json).toMatchObject({
    status: 'completed',
    reward: 1,
  });
});
