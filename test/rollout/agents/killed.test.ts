import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { runAcceptedSchema } from '../../../src/contract/service/run.ts';
import { Script } from '../../processes.ts';
import { openParts, startService, temporaryDirectory } from '../../service/runs/service.ts';
import { agentsOf, hasSandbox, plays } from './agents.ts';

const TEMPORARY = mkdtempSync(join(tmpdir(), 'proctor-killed-'));
afterAll(() => rmSync(TEMPORARY, { recursive: true, force: true }));

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 120_000 });

/** How many processes have a text in their command line. */
function countRunning(text: string): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
    } catch {
      return false;
    }
  }).length;
}

/** Those of this test's processes: others may run agents here too. */
function foldersOfAgents(): readonly string[] {
  return readdirSync(TEMPORARY).filter((name) => name.startsWith('proctor-agent-'));
}

it.skipIf(!hasSandbox)(
  'leaves no agent behind when its worker is killed with kill -9, and plays again with a new seat and process',
  async () => {
    vi.stubEnv('TMPDIR', TEMPORARY);
    const databaseUrl = `sqlite:${join(temporaryDirectory(), 'proctor.db')}`;
    const marker = `proctor-killed-${process.pid}`;
    const first = new Script(new URL('./fixtures/service.ts', import.meta.url), [databaseUrl, marker]);
    await first.said(1);
    const { trace_id } = runAcceptedSchema.parse(JSON.parse(first.lines[0] ?? ''));
    const parts = await openParts(databaseUrl);
    const calls = async () => (await parts.store.trace(trace_id))?.tool_calls?.length ?? 0;
    await expect.poll(calls, { timeout: 60_000 }).toBe(1);
    // That of the agent, beside those of the sandbox and of the service.
    expect(countRunning(marker)).toBeGreaterThan(1);
    await first.kill();
    expect(foldersOfAgents()).not.toEqual([]);
    await expect.poll(() => countRunning(marker), { timeout: 20_000 }).toBe(0);
    // What a clock would do in 10 s.
    await parts.database.kysely.updateTable('queue').set({ lease_until: 1 }).execute();

    const second = await startService({ parts, agents: agentsOf({ plays: plays('solves') }) });
    const trace = await second.ended(trace_id);
    expect(trace).toMatchObject({ status: 'completed', reward: 1, attempt: 2, agent: 'plays' });
    expect(trace.attempts.map(({ end }) => end)).toEqual(['lost', 'completed']);
    expect(foldersOfAgents()).toEqual([]);
  },
);
