import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BoundaryError } from '../../../src/contract/errors.ts';
import { SharedEnvironmentError } from '../../../src/environment/client/client-failure.ts';
import type { EnvironmentClient } from '../../../src/environment/client/environment-client.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import { RunInterrupted, type RunOptions } from '../../../src/rollout/session/run.ts';
import {
  call,
  calls,
  counterClient,
  forever,
  gate,
  listRecorder,
  runOptions,
  says,
  scripted,
  untilAborted,
} from './fixtures.ts';

const PHASES = ['setup', 'tool', 'model', 'evaluate'] as const;
type Phase = (typeof PHASES)[number];

const GONE = 'The environment "counter" was killed by SIGKILL';
const BOUNDARIES = { setup: 'setup', tool: 'tool', model: 'environment', evaluate: 'evaluate' } as const;

interface Loss {
  /** In which the environment is lost. */
  readonly phase: Phase;
  readonly isShared: boolean;
  /** What is heard of first: the call that fails, or the connection that is closed. */
  readonly first?: 'call' | 'connection';
  /** Called as it happens. */
  onLoss?(): void;
  readonly more?: Partial<RunOptions>;
}

/** A run whose environment is lost at one point, in a process with others or alone. */
async function play({ phase, isShared, first = 'call', onLoss, more }: Loss) {
  const connection = gate<BoundaryError>();
  let isLost = false;
  const close = () => connection.open(new BoundaryError('environment', 'environment_failed', GONE));
  const lose = async (): Promise<never> => {
    isLost = true;
    onLoss?.();
    if (first === 'connection') {
      close();
      await setImmediate();
    } else void setImmediate().then(close);
    throw new BoundaryError(BOUNDARIES[phase], 'environment_failed', GONE);
  };
  const counter = counterClient({
    ...(phase === 'setup' && { onSetup: lose }),
    ...(phase === 'tool' && { onCall: lose }),
    onEvaluate: () => (phase === 'evaluate' || isLost ? lose() : {}),
  });
  const client: EnvironmentClient = Object.assign(Object.create(counter) as EnvironmentClient, {
    lost: connection.passed,
    isShared,
  });
  Object.defineProperty(client, 'isLost', { get: () => isLost });
  const recorder = listRecorder();
  const model = scripted(({ signal }) => {
    if (phase !== 'model') return calls(call('increment'));
    void lose().catch(() => {});
    return untilAborted(signal);
  }, says('Done.'));
  const outcome = await executeRun(runOptions(client, model, recorder, more));
  return { outcome, recorder, counter };
}

const error = { boundary: 'environment', code: 'environment_failed', message: GONE };
const ways = PHASES.flatMap((phase) => (['call', 'connection'] as const).map((first) => ({ phase, first })));

describe('a run whose environment dies together with others', () => {
  it.each(ways)('is lost in $phase, without an end, where the $first says so first', async (way) => {
    const { outcome, recorder, counter } = await play({ ...way, isShared: true });
    expect(outcome).toEqual({ status: 'lost', error });
    expect(recorder.of('run.finished')).toEqual([]);
    expect(recorder.of('tool.responded')).toHaveLength(recorder.of('tool.called').length);
    expect(counter.asked.filter((asked) => asked === 'close')).toHaveLength(1);
  });

  it('is lost where only its connection can say so', async () => {
    const lost = gate<BoundaryError>();
    const counter = counterClient();
    const client = Object.assign(Object.create(counter) as EnvironmentClient, { isShared: true, lost: lost.passed });
    const model = scripted(({ signal }) => {
      lost.open(new BoundaryError('environment', 'environment_failed', GONE));
      return untilAborted(signal);
    });
    expect((await executeRun(runOptions(client, model, listRecorder()))).status).toBe('lost');
  });

  it('is lost while it connects, too', async () => {
    const recorder = listRecorder();
    const connect = () => Promise.reject(new SharedEnvironmentError('environment', 'environment_failed', GONE));
    const outcome = await executeRun(runOptions(counterClient(), scripted(), recorder, { connect }));
    expect(outcome).toEqual({ status: 'lost', error });
    expect(recorder.of('run.finished')).toEqual([]);
  });

  it.each(PHASES)('stays cancelled where it was cancelled in %s as that happened', async (phase) => {
    const interruption = new AbortController();
    const onLoss = () => interruption.abort(new RunInterrupted('cancelled'));
    const more = { signal: interruption.signal };
    const { outcome, recorder } = await play({ phase, isShared: true, onLoss, more });
    expect(outcome).toMatchObject({ status: 'cancelled', error: null });
    expect(recorder.of('run.finished')).toMatchObject([{ status: 'cancelled' }]);
  });

  it('stays given back where the worker stopped as that happened', async () => {
    const interruption = new AbortController();
    const onLoss = () => interruption.abort(new RunInterrupted('released'));
    const { outcome, recorder } = await play({
      phase: 'tool',
      isShared: true,
      onLoss,
      more: { signal: interruption.signal },
    });
    expect(outcome).toEqual({ status: 'released' });
    expect(recorder.of('run.finished')).toEqual([]);
  });

  it('stays completed where that happened after its evaluation', async () => {
    const lost = gate<BoundaryError>();
    const written = gate();
    const recorder = listRecorder();
    const counter = counterClient({
      onEvaluate: () => {
        recorder.holdUntil(written.passed);
        return { reward: 1 };
      },
    });
    const client = Object.assign(Object.create(counter) as EnvironmentClient, { isShared: true, lost: lost.passed });
    const running = executeRun(runOptions(client, scripted(says('Done.')), recorder));
    await expect.poll(() => recorder.of('run.finished')).toHaveLength(1);
    lost.open(new BoundaryError('environment', 'environment_failed', GONE));
    await setImmediate();
    written.open();
    expect(await running).toMatchObject({ status: 'completed', reward: 1 });
    expect(recorder.of('run.finished')).toHaveLength(1);
  });

  it('stays failed where the model had failed before', async () => {
    let isLost = false;
    const counter = counterClient({
      onEvaluate: () => {
        isLost = true;
        throw new BoundaryError('evaluate', 'environment_failed', GONE);
      },
    });
    const client = Object.assign(Object.create(counter) as EnvironmentClient, { isShared: true, lost: forever() });
    Object.defineProperty(client, 'isLost', { get: () => isLost });
    const failing = scripted(new BoundaryError('model', 'model_failed', 'The gateway answered 401'));
    const outcome = await executeRun(runOptions(client, failing, listRecorder()));
    expect(outcome).toMatchObject({ status: 'failed', error: { boundary: 'model' } });
  });

  it('fails as before where it is not lost', async () => {
    const counter = counterClient({
      onSetup: () => {
        throw new BoundaryError('setup', 'environment_failed', 'no table');
      },
    });
    const client = Object.assign(Object.create(counter) as EnvironmentClient, { isShared: true, lost: forever() });
    const outcome = await executeRun(runOptions(client, scripted(), listRecorder()));
    expect(outcome).toMatchObject({ status: 'failed', error: { boundary: 'setup', message: 'no table' } });
  });
});

describe('a run whose environment dies alone', () => {
  it.each(ways)('is failed in $phase by the boundary environment, where the $first says so first', async (way) => {
    const { outcome, recorder } = await play({ ...way, isShared: false });
    expect(outcome).toMatchObject({ status: 'failed', stopReason: 'error', reward: null, error });
    expect(recorder.of('run.finished')).toMatchObject([{ status: 'failed', error }]);
  });
});
