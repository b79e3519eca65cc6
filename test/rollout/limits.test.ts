import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { GuardedRecorder } from '../../src/rollout/guarded-recorder.ts';
import { RunTimeoutError, startDeadline, withLimit } from '../../src/rollout/limits.ts';
import { forever, listRecorder, untilAborted } from './fixtures.ts';

describe('a limit', () => {
  it('leaves no listener behind, whatever the ending', async () => {
    const { signal } = new AbortController();
    const toError = (time: string) => new Error(`not within ${time}`);
    expect(await withLimit({ signal, limitMs: 1_000 }, async () => 'done')).toBe('done');
    await expect(withLimit({ signal }, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(withLimit({ signal, limitMs: 5, toError }, forever)).rejects.toThrow('not within 5 ms');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('rejects with the reason of the signal, not with what the work makes of it', async () => {
    const controller = new AbortController();
    const work = withLimit({ signal: controller.signal }, async (signal) => {
      await untilAborted(signal).catch(() => {});
      throw new Error('The connection was closed');
    });
    const reason = new Error('cancelled');
    controller.abort(reason);
    await expect(work).rejects.toBe(reason);
  });

  it('does not start the work where the signal is aborted already', async () => {
    let isStarted = false;
    const reason = new Error('too late');
    const work = withLimit({ signal: AbortSignal.abort(reason) }, async () => {
      isStarted = true;
    });
    await expect(work).rejects.toBe(reason);
    expect(isStarted).toBe(false);
  });
});

describe('the deadline of a run', () => {
  it('is over with a reason that names the time', async () => {
    const deadline = startDeadline(5);
    await new Promise((resolve) => deadline.signal.addEventListener('abort', resolve));
    expect(deadline.signal.reason).toEqual(new RunTimeoutError(5));
    expect(deadline.signal.reason.message).toBe("The run's time of 5 ms is over");
    expect(deadline.remainingMs()).toBe(0);
  });
});

describe('a guarded recorder', () => {
  it('keeps the first failure for every later wait and tells it by its signal, without being asked', async () => {
    const list = listRecorder();
    const recorder = new GuardedRecorder(list);
    const full = new Error('disk full');
    list.failWith(full);
    recorder.record({ type: 'model.requested', turn: 1, step: 1 });
    await new Promise((resolve) => recorder.failed.addEventListener('abort', resolve));
    expect(recorder.failed.reason).toBe(full);
    list.failWith(undefined);
    await expect(recorder.settled()).rejects.toBe(full);
    await expect(recorder.toStored('x')).rejects.toBe(full);
    recorder.record({ type: 'model.requested', turn: 1, step: 2 });
    expect(list.events).toHaveLength(1);
  });

  it('drops what comes after the end', async () => {
    const list = listRecorder();
    const recorder = new GuardedRecorder(list);
    recorder.record({ type: 'model.requested', turn: 1, step: 1 });
    await recorder.end();
    recorder.record({ type: 'model.requested', turn: 1, step: 2 });
    expect(list.events).toHaveLength(1);
  });
});
