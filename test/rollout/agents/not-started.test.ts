import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AgentEntry } from '../../../src/rollout/agents/agent-definition.ts';
import { startService, temporaryDirectory, traceIdOf } from '../../service/runs/service.ts';
import { agentsOf, hasSandbox, plays } from './agents.ts';

async function play(entry: Partial<AgentEntry> & Pick<AgentEntry, 'command'>) {
  const service = await startService({ agents: agentsOf({ tries: entry }) });
  return await service.ended(traceIdOf(await service.run({ agent: 'tries', model: undefined })));
}

/** A program of these lines, in a folder of its own. */
function program(name: string, text: string) {
  const folder = temporaryDirectory();
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return { folder, path };
}

describe('an agent that was never started', () => {
  it('says nothing about the agent where its program cannot be run', async () => {
    const { path } = program('agent', '#!/opt/nowhere/interpreter\n');
    const trace = await play({ command: [path], needs: 'none' });
    expect(trace).toMatchObject({ status: 'failed', outcome: 'infra_error', reward: null });
    expect(trace.error).toMatchObject({ boundary: 'worker', code: 'internal_error' });
    expect(trace.error?.message).toMatch(/^The agent tries (was not started|could not be started)/);
  });

  describe.skipIf(!hasSandbox)('in a sandbox', () => {
    const fails = () => {
      const { folder } = program(
        'bwrap',
        `#!/bin/sh\necho "bwrap: Can't mount proc: Operation not permitted" >&2\nexit 1\n`,
      );
      return { PATH: `${folder}:${process.env.PATH}` };
    };

    it.each(['exec', 'acp'] as const)('says nothing about the agent (%s), and why', async (protocol) => {
      const trace = await play({ ...plays('solves'), protocol, env: fails() });
      expect(trace).toMatchObject({ status: 'failed', outcome: 'infra_error', reward: null });
      expect(trace.error).toEqual({
        boundary: 'worker',
        code: 'internal_error',
        message:
          "The agent tries was not started, since its sandbox could not be made (bwrap: Can't mount proc: Operation not permitted)",
      });
    });

    it('is told from one that exits with the code and the words of a failed sandbox', async () => {
      const words = `echo "bwrap: Can't mount proc" >&2; exit 1`;
      const trace = await play({ command: ['/bin/sh', '-c', words], needs: 'none' });
      expect(trace).toMatchObject({ status: 'failed', outcome: 'agent_error', error: { code: 'agent_failed' } });
    });

    it('is told from one that was killed', async () => {
      const trace = await play({ command: ['/bin/sh', '-c', 'kill -9 $$'], needs: 'none' });
      expect(trace).toMatchObject({ status: 'failed', outcome: 'agent_error', error: { code: 'agent_failed' } });
    });
  });
});
