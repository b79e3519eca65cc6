import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, vi } from 'vitest';
import { sitExam } from '../../docs/examples/seat-agent.ts';
import { startService } from '../run-service/service.ts';
import { openSeat } from '../seats/seat.ts';
import { ROOT } from './documents.ts';

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) console.warn('docs/examples/seat_agent.py is not run: there is no python3');

it('the program of docs/agents.md opens a seat, plays it and gets its reward', async () => {
  const service = await startService();
  const print = vi.spyOn(console, 'log').mockImplementation(() => {});
  expect(await sitExam(service.url, service.key)).toBe(1);
  expect(print.mock.calls).toEqual([[[expect.objectContaining({ role: 'user' })], 4]]);
  print.mockRestore();
});

it.skipIf(!hasPython)('the agent in Python plays a seat', { timeout: 60_000 }, async () => {
  const service = await startService();
  const seat = await openSeat(service);
  const { url, headers } = seat.mcp;
  const program = join(ROOT, 'docs/examples/seat_agent.py');
  const { stdout } = await promisify(execFile)('python3', [program, url, String(headers.Authorization)]);
  expect(stdout).toContain("['increment', 'read', 'slow_increment', 'submit_answer']");
  expect(stdout).toContain("{'received': True}");
  expect(await service.ended(seat.trace_id)).toMatchObject({ status: 'completed', reward: 1 });
});
