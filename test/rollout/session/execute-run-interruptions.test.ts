import { describe, expect, it } from 'vitest';
import type { ConnectOptions } from '../../../src/environment/client/environment-client.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import { RunInterrupted } from '../../../src/rollout/session/run.ts';
import { AttemptSupersededError } from '../../../src/store/traces/trace-store.ts';
import {
  call,
  calls,
  counterClient,
  forever,
  listRecorder,
  runOptions,
  says,
  scripted,
  textResult,
  untilAborted,
} from './fixtures.ts';

describe('a run that is interrupted', () => {
  const cancel = () => new RunInterrupted('cancelled');
  const cancelled = { status: 'cancelled', stopReason: 'cancelled', reward: null, error: null };

  it.each(['connect', 'setup', 'model', 'tool', 'evaluate'] as const)(
    'is cancelled in %s: no evaluation counts, the environment is closed',
    async (phase) => {
      const interruption = new AbortController();
      const stopHere = async (signal: AbortSignal): Promise<never> => {
        interruption.abort(cancel());
        return await untilAborted(signal.aborted ? AbortSignal.abort(signal.reason) : signal);
      };
      const client = counterClient({
        ...(phase === 'setup' && { onSetup: stopHere }),
        ...(phase === 'tool' && { onCall: (_name: string, _args: object, signal: AbortSignal) => stopHere(signal) }),
        ...(phase === 'evaluate' && { onEvaluate: (_answer: unknown, signal: AbortSignal) => stopHere(signal) }),
      });
      const recorder = listRecorder();
      const model = scripted(
        ({ signal }) => (phase === 'model' ? stopHere(signal) : calls(call('increment'), call('read'))),
        says('Done.'),
      );
      const connect = async ({ signal }: ConnectOptions) =>
        phase === 'connect' && signal !== undefined ? await stopHere(signal) : client;
      const outcome = await executeRun(runOptions(client, model, recorder, { signal: interruption.signal, connect }));
      expect(outcome).toMatchObject(cancelled);
      expect(recorder.of('evaluation.completed')).toEqual([]);
      expect(recorder.events.at(-1)).toEqual({
        type: 'run.finished',
        status: 'cancelled',
        stop_reason: 'cancelled',
        reward: null,
        error: null,
      });
      expect(recorder.of('tool.responded')).toHaveLength(recorder.of('tool.called').length);
      if (phase !== 'connect') expect(client.isClosed).toBe(true);
    },
  );

  it('is not evaluated when it is cancelled in its turn', async () => {
    const interruption = new AbortController();
    const client = counterClient();
    const model = scripted(() => {
      interruption.abort(cancel());
      return forever();
    });
    await executeRun(runOptions(client, model, listRecorder(), { signal: interruption.signal }));
    expect(client.asked).toEqual(['setup', 'close']);
  });

  it('is cancelled where it was cancelled before it began', async () => {
    const outcome = await executeRun(
      runOptions(counterClient(), scripted(), listRecorder(), { signal: AbortSignal.abort(cancel()) }),
    );
    expect(outcome).toMatchObject(cancelled);
  });

  it('is given back without run.finished where the worker stops', async () => {
    const interruption = new AbortController();
    const client = counterClient();
    const recorder = listRecorder();
    const model = scripted(calls(call('increment')), () => {
      interruption.abort(new RunInterrupted('released'));
      return forever();
    });
    const outcome = await executeRun(runOptions(client, model, recorder, { signal: interruption.signal }));
    expect(outcome).toEqual({ status: 'released' });
    expect(recorder.of('run.finished')).toEqual([]);
    expect(client.isClosed).toBe(true);
  });
});

describe('a run that cannot be recorded', () => {
  const superseded = new AttemptSupersededError('0'.repeat(32), 1);

  it('stops at once and says who has it, while a tool still runs', async () => {
    const recorder = listRecorder();
    const client = counterClient({
      onCall: (_name, _args, signal) => {
        recorder.failWith(superseded);
        return untilAborted(signal);
      },
    });
    const model = scripted(calls(call('increment')));
    await expect(executeRun(runOptions(client, model, recorder))).rejects.toBe(superseded);
    expect(client.asked).toEqual(['setup', 'increment', 'close']);
  });

  it('is not evaluated where the failure shows when the turn ends', async () => {
    const recorder = listRecorder();
    const client = counterClient();
    const model = scripted(() => {
      recorder.failWith(superseded);
      return says('Done.');
    });
    await expect(executeRun(runOptions(client, model, recorder))).rejects.toBe(superseded);
    expect(client.asked).toEqual(['setup', 'close']);
  });

  it('rejects where its final state cannot be written, and closes the environment', async () => {
    const recorder = listRecorder();
    const full = new Error('database or disk is full');
    const client = counterClient({
      onEvaluate: () => {
        recorder.failWith(full);
        return {};
      },
    });
    await expect(executeRun(runOptions(client, scripted(says('')), recorder))).rejects.toBe(full);
    expect(client.isClosed).toBe(true);
  });

  it('tells the model of a tool that failed, and goes on', async () => {
    const client = counterClient({ onCall: () => textResult('The counter is stuck', true) });
    const model = scripted(calls(call('increment')), says('It is stuck.'));
    const outcome = await executeRun(runOptions(client, model, listRecorder()));
    expect(outcome).toMatchObject({ status: 'completed', answer: 'It is stuck.', reward: 0 });
  });
});
