import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { openParts, startService, temporaryDirectory, traceIdOf } from '../../service/runs/service.ts';
import { openSeat, secretOf } from '../seats/seat.ts';
import { agentsOf, hasSandbox, plays, written } from './agents.ts';

/** Plays a run to its end with a bare MCP client. */
async function play(way: string, ...rest: readonly string[]): Promise<Trace> {
  const service = await startService({ agents: agentsOf({ tries: plays(way, ...rest) }) });
  return await service.ended(traceIdOf(await service.run({ agent: 'tries', model: undefined })));
}

/** Process ids of those whose command line holds a text. */
function running(text: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
    } catch {
      return false;
    }
  });
}

describe.skipIf(!hasSandbox)('an agent in its sandbox', () => {
  it('sees neither files of the user, nor those of Proctor, nor its keys', async () => {
    const directory = temporaryDirectory();
    const database = join(directory, '.proctor', 'proctor.db');
    mkdirSync(join(directory, '.proctor'));
    const parts = await openParts(`sqlite:${database}`);
    const [file, config] = [join(directory, 'notes.txt'), join(directory, 'proctor.config.ts')];
    for (const path of [file, config]) writeFileSync(path, 'mine');
    const paths = [database, file, config, homedir(), '/etc/shadow', '/etc/passwd', `/proc/${process.pid}/environ`];
    process.env.PROCTOR_AGENTS_TEST_API_KEY = 'sk-not-for-agents';
    onTestFinished(() => void delete process.env.PROCTOR_AGENTS_TEST_API_KEY);
    const agents = agentsOf({ reads: { ...plays('reads'), env: { PATHS: JSON.stringify(paths) } } }, [directory]);
    const service = await startService({ parts, agents });
    const trace = await service.ended(traceIdOf(await service.run({ agent: 'reads', model: undefined })));
    const text = written(trace);
    for (const path of [database, file, config, homedir(), '/etc/shadow', `/proc/${process.pid}/environ`]) {
      expect(text).toContain(`not read ${path}: ENOENT`);
    }
    // One of its own, without the users of this machine.
    expect(text).toMatch(/^read \/etc\/passwd: \d{2,3} bytes$/m);
    expect(text).not.toContain('PROCTOR_AGENTS_TEST_API_KEY');
    expect(trace.reward).toBe(1);
  });

  it('leaves no process behind, whatever it has started and however', async () => {
    const marker = `proctor-agent-test-${process.pid}`;
    const trace = await play('forks', marker);
    expect(trace.reward).toBe(1);
    expect(running(marker)).toEqual([]);
  });

  it('leaves no file behind', async () => {
    await play('solves');
    // Other tests run agents meanwhile, in processes of their own.
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith(`proctor-agent-${process.pid}_`))).toEqual([]);
  });
});

describe('an agent that looks for its reward', () => {
  it('gets nothing by the secret of its seat but its seat, and at the seats of others nothing', async () => {
    const other = await startService();
    const seat = await openSeat(other);
    const trace = await play('takes', secretOf(seat));
    const text = written(trace);
    expect(text).toContain('another seat: 404');
    for (const path of ['/v1/traces', '/v1/agent/run', '/svc/tools']) expect(text).toMatch(new RegExp(`${path}: 404`));
    for (const name of ['setup', 'evaluate', 'solution'])
      expect(text).toMatch(new RegExp(`^${name}: .*Unknown tool`, 'm'));
    expect(text).not.toContain('reward');
    expect(trace).toMatchObject({ reward: 1, usage: { tool_calls: 1 } });
  });

  it('has no secret in its trace', async () => {
    const trace = await play('reads');
    expect(written(trace)).toMatch(/^address: http/m);
    expect(JSON.stringify(trace)).not.toMatch(/seat_[0-9a-f]{32}/);
  });
});
