import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import { RunInterrupted, type RunOptions } from '../../../src/rollout/session/run.ts';
import { call, calls, type Line, listRecorder, runOptions, runRequest, says, scripted } from './fixtures.ts';

const path = fileURLToPath(new URL('environments/mortal/environment.ts', import.meta.url));

async function play(scenario: string, lines: readonly Line[], more: Partial<RunOptions> = {}) {
  const recorder = listRecorder();
  const request = runRequest({ scenario_name: scenario, scenario_args: {} });
  const outcome = await executeRun({
    ...runOptions(undefined as never, scripted(...lines), recorder, { request }),
    connect: (options) => connectEnvironment({ kind: 'module', path }, options),
    ...more,
  });
  return { outcome, recorder };
}

describe('a run in a process of its own', () => {
  it('is completed although a tool prints garbage on standard output, which is kept as a log', async () => {
    const { outcome, recorder } = await play('count', [calls(call('increment')), says('One.')]);
    expect(outcome).toMatchObject({ status: 'completed', reward: 1 });
    expect(recorder.of('log').map((log) => log.message)).toContain('{"jsonrpc": "2.0", "garbage');
  });

  it('is failed by an environment that exits in setup, with how it ended', async () => {
    const { outcome } = await play('exits_in_setup', []);
    expect(outcome).toMatchObject({
      status: 'failed',
      stopReason: 'error',
      reward: null,
      error: { boundary: 'environment', code: 'environment_failed', message: expect.stringMatching(/code 3/) },
    });
  });

  it('is failed by an environment that hangs in setup, after the limit', async () => {
    const { outcome } = await play('hangs_in_setup', [], { limits: { setupMs: 50 } });
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { boundary: 'setup', message: 'The setup of scenario hangs_in_setup did not end within 50 ms' },
    });
  });

  it('is failed by an environment that exits in a tool call, which is answered with an error', async () => {
    const { outcome, recorder } = await play('count', [calls(call('increment'), call('exit'), call('increment'))]);
    const error = { boundary: 'environment', code: 'environment_failed' };
    expect(outcome).toMatchObject({ status: 'failed', reward: null, error });
    expect(recorder.of('tool.responded').map((event) => event.is_error)).toEqual([false, true, true]);
    expect(recorder.of('evaluation.completed')).toEqual([]);
  });

  it('goes on after a tool that hangs: the model is told', async () => {
    const lines = [calls(call('hang')), calls(call('increment')), says('One.')];
    const { outcome } = await play('count', lines, { limits: { toolCallMs: 50 } });
    expect(outcome).toMatchObject({ status: 'completed', reward: 1 });
  });

  it('is failed by an evaluation that blocks the whole process, after the limit', async () => {
    const { outcome } = await play('blocks_in_evaluation', [says('Done.')], { limits: { evaluateMs: 50 } });
    expect(outcome).toMatchObject({ status: 'failed', answer: 'Done.', error: { boundary: 'evaluate' } });
  });

  it.each([
    ['the limit of a call', { limits: { toolCallMs: 50, graceMs: 500 } }],
    ['its time', { limits: { graceMs: 500 }, timeoutSeconds: 10 }],
  ])('is failed by a tool that blocks the whole process beyond %s, and the tool is named', async (_what, setting) => {
    const { limits, timeoutSeconds = 60 } = { timeoutSeconds: undefined, ...setting };
    const request = runRequest({ scenario_name: 'count', scenario_args: {}, timeout_seconds: timeoutSeconds });
    const { outcome, recorder } = await play('count', [calls(call('spin')), says('Done.')], { request, limits });
    expect(outcome).toMatchObject({
      status: 'failed',
      stopReason: 'error',
      reward: null,
      error: { boundary: 'tool', code: 'tool_blocked', message: expect.stringMatching(/^The tool spin holds up/) },
    });
    expect(recorder.of('tool.responded')).toMatchObject([{ name: 'spin', is_error: true }]);
  });

  it('is cancelled while its environment starts', async () => {
    const interruption = new AbortController();
    const playing = play('count', [], { signal: interruption.signal });
    interruption.abort(new RunInterrupted('cancelled'));
    expect((await playing).outcome).toMatchObject({ status: 'cancelled' });
  });
});
