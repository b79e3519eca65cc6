import { describe, expect, it } from 'vitest';
import { GuardedRecorder } from '../../src/rollout/guarded-recorder.ts';
import { listRecorder } from './fixtures.ts';

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
