import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, vi } from 'vitest';
import { sitExam } from '../../docs/examples/seat-agent.ts';
import { loadProject } from '../../src/service/config/project.ts';
import { openSeat } from '../rollout/seats/seat.ts';
import { startService } from '../service/runs/service.ts';
import { createFolder, ROOT } from './documents.ts';

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

it('the configuration of docs/agents.md is one, and names programs of its folder', async () => {
  const folder = createFolder();
  mkdirSync(join(folder, 'agents'));
  cpSync(join(ROOT, 'docs/examples/agents.config.ts'), join(folder, 'proctor.config.ts'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  for (const name of ['langgraph.mjs', 'play.py']) {
    const source = name === 'play.py' ? 'seat_agent.py' : name;
    cpSync(join(ROOT, 'docs/examples', source), join(folder, 'agents', name));
  }
  const { agents } = await loadProject(folder, { PATH: process.env.PATH });
  expect(agents.names).toEqual(expect.arrayContaining(['graph', 'colleague', 'assistant']));
  expect(agents.find('graph')).toMatchObject({ needs: 'openai', protocol: 'exec', version: null });
  expect(agents.find('graph').command[1]).toBe(join(folder, 'agents/langgraph.mjs'));
});
