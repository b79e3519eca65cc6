import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { startService, traceIdOf } from '../../service/runs/service.ts';
import { agentsOf, written } from './agents.ts';

const AGENT = fileURLToPath(new URL('fixtures/acp-agent.mjs', import.meta.url));

/** Plays a run to its end with an agent that is asked over its standard input. */
async function play(way: string, body: object = {}) {
  const asked = { command: ['node', AGENT, way], protocol: 'acp' as const, needs: 'none' as const };
  const service = await startService({ agents: agentsOf({ asked }) });
  return await service.ended(traceIdOf(await service.run({ agent: 'asked', model: undefined, ...body })));
}

describe('an agent that speaks the Agent Client Protocol', () => {
  it('plays the task, and has answered with the text that it wrote last', async () => {
    const trace = await play('plays');
    expect(trace).toMatchObject({ status: 'completed', outcome: 'graded', reward: 1, answer: 'The counter shows 3.' });
    expect(written(trace, 'stderr')).toContain('asked: [{"type":"text","text":"Make the counter show exactly 3');
  });

  it('is granted what it asks for, and is refused files of this machine', async () => {
    const log = written(await play('plays'), 'stderr');
    expect(log).toContain('granted: {"outcome":{"outcome":"selected","optionId":"yes"}}');
    expect(log).toContain('file: {"error":{"code":-32601,');
  });

  it('writes nothing into the log of this process', async () => {
    const log = vi.spyOn(console, 'error');
    await play('plays');
    expect(log.mock.calls).toEqual([]);
    log.mockRestore();
  });

  it('signs in where it asks for that', async () => {
    expect(await play('careful')).toMatchObject({ status: 'completed', reward: 1 });
  });

  it('is invalid where it takes no MCP server over HTTP, and is not graded', async () => {
    const trace = await play('deaf');
    expect(trace).toMatchObject({ status: 'failed', outcome: 'invalid', evaluation: null });
    expect(trace.error).toMatchObject({ boundary: 'agent', code: 'agent_without_tools' });
  });

  it.each([
    ['tomorrow', /version 2 of the Agent Client Protocol/],
    ['crashes', /exited with code 9/],
    ['refuses', /ended its turn \(refusal\)/],
  ])('has failed where it %s', async (way, message) => {
    const trace = await play(way);
    expect(trace).toMatchObject({ status: 'failed', outcome: 'agent_error', error: { code: 'agent_failed' } });
    expect(trace.error?.message).toMatch(message);
  });

  it('is ended at the time of its run', async () => {
    expect(await play('never', { timeout_seconds: 4 })).toMatchObject({ stop_reason: 'timeout', outcome: 'limit' });
  });
});
