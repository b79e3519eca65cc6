import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import { EngineError } from '../../../src/environment/sandbox/engine.ts';
import { openInMemory } from '../../../src/environment/server/in-memory.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import { AttemptProjection } from '../../../src/store/traces/rows/attempt-projection.ts';
import { toOutcome } from '../../../src/store/traces/rows/trace-outcome.ts';
import { enginesOf, FakeEngine } from '../../environment/sandbox/fake-engine.ts';
import { call, calls, type Line, listRecorder, runOptions, runRequest, says, scripted } from './fixtures.ts';

class Boxed extends EnvironmentServer {
  readonly box = this.sandbox({ image: 'busy:1', files: { 'a.txt': 'a' }, env: { PATH: process.env.PATH ?? '' } });

  constructor() {
    super({ name: 'boxed' });
    const { box } = this;
    this.tool('run', { args: { command: z.string() } }, async ({ command }) => (await box.exec(command)).stdout);
    this.scenario('fix', {}, async function* () {
      yield 'Fix it.';
      return (await box.files.stat('b.txt')) !== undefined;
    });
  }
}

/** A run of the environment in this process, with an engine that the test controls. */
async function play(engine: FakeEngine, ...lines: readonly Line[]) {
  const recorder = listRecorder();
  const engines = async () => enginesOf(engine);
  const target = {
    kind: 'memory' as const,
    open: (report: (text: string) => void) => openInMemory(Boxed, { report, engines }),
  };
  const client = await connectEnvironment(target);
  const options = runOptions(client as never, scripted(...lines), recorder);
  const request = runRequest({ scenario_name: 'fix', scenario_args: {} });
  const outcome = await executeRun({ ...options, request, connect: async () => client });
  return { outcome, recorder };
}

function outcomeOf({ outcome }: Awaited<ReturnType<typeof play>>) {
  if (outcome.status === 'released' || outcome.status === 'lost') return outcome.status;
  const { status, stopReason, error } = outcome;
  const trace = { status, stop_reason: stopReason, error };
  return toOutcome({ trace, lastResponse: undefined, isAnswerUnfit: false });
}

describe('a run with a sandbox', () => {
  it('records it before the setup and after the agent, and nothing of it is left', async () => {
    const engine = new FakeEngine();
    const played = await play(engine, calls(call('run', { command: 'touch b.txt' })), says('Done.'));
    expect(played.outcome).toMatchObject({ status: 'completed', reward: 1 });
    const types = played.recorder.events.map(({ type }) => type);
    expect(types.slice(0, 4)).toEqual(['run.started', 'environment.ready', 'sandbox.started', 'setup.completed']);
    expect(types.slice(-4)).toEqual(['answer.submitted', 'sandbox.ended', 'evaluation.completed', 'run.finished']);
    expect(played.recorder.of('sandbox.started')[0]).toMatchObject({ engine: 'fake', digest: 'sha256:fake' });
    expect(played.recorder.of('sandbox.ended')[0]?.changes).toEqual({ added: ['b.txt'], changed: [], removed: [] });
    expect(engine.opened[0]?.spec.labels.run).toBeDefined();
    expect(engine.live).toEqual([]);
  });

  it('has its facts in the trace, with the time of the start in a line of its own', async () => {
    const { recorder } = await play(new FakeEngine(), says('Done.'));
    const projection = new AttemptProjection('2026-01-01T00:00:00.000Z');
    for (const event of recorder.events) {
      projection.add({ ...event, seq: 1, at: '2026-01-01T00:00:00.000Z', attempt: 1 } as never);
    }
    const { sandboxes, timing } = projection.toTraceFields();
    expect(sandboxes).toMatchObject([{ name: 'main', image: 'busy:1', refused: [], end: { memory_kills: 0 } }]);
    expect(timing.sandbox_ms).toBeGreaterThanOrEqual(0);
  });

  it('is an error of the infrastructure if the engine fails, in the start as in a call', async () => {
    const engine = new FakeEngine();
    engine.createError = new EngineError('disk', 'The disk of the engine is full.');
    const atStart = await play(engine, says('Done.'));
    expect(atStart.outcome).toMatchObject({ status: 'failed', error: { boundary: 'environment' } });
    expect(outcomeOf(atStart)).toBe('infra_error');
    const later = new FakeEngine();
    const lost = await play(later, () => {
      later.opened[0]?.lose({ by: 'engine', reason: 'was removed by somebody else' });
      return calls(call('run', { command: 'true' }));
    });
    expect(lost.outcome).toMatchObject({ error: { message: expect.stringContaining('was removed by somebody else') } });
    expect(outcomeOf(lost)).toBe('infra_error');
  });

  it('is a failure of the agent if the agent ended its own sandbox', async () => {
    const engine = new FakeEngine();
    const played = await play(engine, () => {
      engine.opened[0]?.lose({ by: 'agent', reason: 'was ended by its own command (exit code 137)' });
      return calls(call('run', { command: 'true' }));
    });
    expect(played.outcome).toMatchObject({ status: 'failed', error: { boundary: 'agent', code: 'sandbox_ended' } });
    expect(outcomeOf(played)).toBe('agent_error');
    expect(engine.live).toEqual([]);
  });
});
