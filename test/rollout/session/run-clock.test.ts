import { describe, expect, it } from 'vitest';
import { BoundaryError } from '../../../src/contract/errors.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import { counterClient, gate, listRecorder, runOptions, runRequest, says, scripted, untilAborted } from './fixtures.ts';

const TASK = { evaluation_id: `eval_${'0'.repeat(32)}`, task_id: 't', attempt_index: 1, rerun: 0, rerun_limit: 3 };

/** A model that waits before its answer as for a gateway, until it is let go. */
function waitingModel(why: Error | undefined, passed: Promise<void>) {
  return scripted(async ({ onWait, signal }) => {
    const resume = onWait?.(why);
    await Promise.race([passed, untilAborted(signal)]).finally(() => resume?.());
    return says('done');
  });
}

describe('the time of a run', () => {
  it('of an evaluation does not run while the gateway has it wait', async () => {
    const { passed, open } = gate();
    const recorder = listRecorder();
    const model = waitingModel(new Error('503'), passed);
    const request = runRequest({ timeout_seconds: 1, evaluation: TASK });
    const running = executeRun(runOptions(counterClient(), model, recorder, { request }));
    setTimeout(() => open(), 1_500);
    expect(await running).toMatchObject({ status: 'completed', stopReason: 'answered' });
  });

  it('of any other run goes on: between two tries of the model it ends as a failure of the model', async () => {
    const recorder = listRecorder();
    const why = new BoundaryError('model', 'model_failed', 'Model m: the gateway answered 503', { status: 503 });
    const model = waitingModel(why, new Promise(() => {}));
    const running = executeRun(
      runOptions(counterClient(), model, recorder, { request: runRequest({ timeout_seconds: 1 }) }),
    );
    expect(await running).toMatchObject({
      status: 'failed',
      stopReason: 'error',
      error: {
        boundary: 'model',
        code: 'model_failed',
        status: 503,
        message: expect.stringMatching(/time of 1 s is over, between two tries of the model.*503/),
      },
    });
    expect(recorder.of('evaluation.completed')).toHaveLength(1);
  });

  it('that ends while the model has not said a thing is over, as ever', async () => {
    const model = scripted(({ signal }) => untilAborted(signal));
    const request = runRequest({ timeout_seconds: 1, evaluation: TASK });
    const outcome = await executeRun(runOptions(counterClient(), model, listRecorder(), { request }));
    expect(outcome).toMatchObject({ status: 'completed', stopReason: 'timeout' });
  });

  it('begins when its environment starts; what it waits for a place is time in the queue', async () => {
    const recorder = listRecorder();
    const client = counterClient();
    const outcome = await executeRun(
      runOptions(client, scripted(says('done')), recorder, {
        request: runRequest({ timeout_seconds: 1 }),
        waitsForPlace: true,
        connect: async ({ onAdmitted }) => {
          await new Promise((resolve) => setTimeout(resolve, 1_300));
          onAdmitted?.();
          return client;
        },
      }),
    );
    expect(outcome).toMatchObject({ status: 'completed', stopReason: 'answered' });
    const [ready] = recorder.of('environment.ready');
    expect(ready?.waited_ms).toBeGreaterThanOrEqual(1_000);
    expect(ready?.duration_ms).toBeLessThan(ready?.waited_ms ?? 0);
  });

  it('is over for an environment that has its place and does not come', async () => {
    const outcome = await executeRun(
      runOptions(counterClient(), scripted(says('done')), listRecorder(), {
        request: runRequest({ timeout_seconds: 1 }),
        waitsForPlace: true,
        connect: ({ onAdmitted, signal }) => {
          onAdmitted?.();
          return untilAborted(signal ?? new AbortController().signal);
        },
      }),
    );
    expect(outcome).toMatchObject({ status: 'failed', error: { boundary: 'environment' } });
  });
});
