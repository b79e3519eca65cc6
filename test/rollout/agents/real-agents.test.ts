import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { type Script, startScriptedGateway } from '../../../src/cli/play/agents/scripted-gateway.ts';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import { createProject, proctor } from '../../cli/command.ts';
import { openParts } from '../../service/runs/service.ts';

// Each of them is a large program, on machines that have other things to do.
vi.setConfig({ testTimeout: 240_000 });

const referees = fileURLToPath(new URL('../../agent-referees/node_modules/', import.meta.url));
const isInstalled = existsSync(join(referees, '.package-lock.json'));
if (!isInstalled) {
  console.warn('SKIPPED: the tests of real agents, since they are not installed (npm run referees:agents)');
}

/** The names that they are known by, and the same programs over the Agent Client Protocol. */
const AGENTS = ['codex', 'gemini', 'opencode', 'acp:gemini --acp --yolo', 'acp:opencode acp', ...claudeIfInstalled()];

/** It is not free software: nobody installs it for a test. */
function claudeIfInstalled(): readonly string[] {
  const isThere = (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'claude')));
  if (!isThere) console.warn('SKIPPED: the tests of Claude Code, which is not installed');
  return isThere ? ['claude'] : [];
}

const outputSchema = z.object({ runs: z.array(z.object({ trace_id: z.string(), reward: z.number().nullable() })) });

/** The solution of a scenario, for a model that follows it. */
async function solutionOf(environment: string, scenario: string, args: Record<string, string | number>) {
  const path = fileURLToPath(new URL(`../../../environments/${environment}/environment.ts`, import.meta.url));
  const client = await connectEnvironment({ kind: 'module', path });
  onTestFinished(() => client.close());
  const { calls, answer } = await client.solution(scenario, args, []);
  return { calls, answer: String(answer) } satisfies Script;
}

/** `proctor run` with an agent and a model that follows the script. */
async function play(agent: string, what: readonly string[], script: Script): Promise<Trace> {
  const gateway = await startScriptedGateway(script);
  onTestFinished(() => gateway.close());
  const cwd = createProject('counter', 'retail');
  const database = `sqlite:${join(cwd, 'proctor.db')}`;
  const ended = await proctor(['run', ...what, '--agent', agent, '--model', 'scripted', '--json'], {
    cwd,
    env: {
      PATH: [join(referees, '.bin'), process.env.PATH].join(delimiter),
      PROCTOR_DATABASE_URL: database,
      PROCTOR_GATEWAY_URL: gateway.url,
      PROCTOR_GATEWAY_API_KEY: 'key-of-the-gateway',
    },
  });
  const [played] = outputSchema.parse(JSON.parse(ended.stdout)).runs;
  const trace = await (await openParts(database)).store.trace(played?.trace_id ?? '');
  if (trace === undefined) throw new Error(`No trace: ${ended.stderr}`);
  return trace;
}

describe.skipIf(!isInstalled).each(AGENTS)('the agent %s', (agent) => {
  it('solves a scenario of counter', async () => {
    const script = await solutionOf('counter', 'count_to', { target: 3 });
    const trace = await play(agent, ['counter', 'count_to', '--arg', 'target=3'], script);
    expect(trace).toMatchObject({
      ...{ status: 'completed', outcome: 'graded', reward: 1, agent, model: 'scripted', error: null },
      ...{ answer: 'The counter shows 3.', ledger: [] },
    });
    expect(trace).not.toHaveProperty('tool_calls');
    const [call] = trace.steps.flatMap(({ tool_results }) => tool_results);
    expect(call).toMatchObject({ name: 'increment', arguments: { by: 3 }, is_error: false });
  });

  it('solves a task of retail', async () => {
    const script = await solutionOf('retail', 'task', { task_id: '1' });
    const trace = await play(agent, ['retail', 'task', '--arg', 'task_id=1'], script);
    expect(trace).toMatchObject({ status: 'completed', outcome: 'graded', reward: 1, ledger: [] });
    const main = trace.steps.filter(({ branch }) => branch === null);
    expect(main.flatMap(({ tool_results }) => tool_results.map(({ name }) => name))).toEqual(
      script.calls.map(({ name }) => name),
    );
  });
});
