import { expect, it } from 'vitest';
import { failOrphan } from '../../src/rollout/fail-orphan.ts';
import { AttemptSupersededError, type TraceRow } from '../../src/store/traces/trace-store.ts';

const OPEN = { status: 'running', attempt: 1 } as TraceRow;

it('an orphan that another server ends between read and write is no error', async () => {
  const append = async (traceId: string, attempt: number) => {
    throw new AttemptSupersededError(traceId, attempt);
  };
  await expect(failOrphan({ row: async () => OPEN, append }, 't', 'gone')).resolves.toBeUndefined();
});

it('a store that fails is an error', async () => {
  const append = async () => {
    throw new Error('disk full');
  };
  await expect(failOrphan({ row: async () => OPEN, append }, 't', 'gone')).rejects.toThrow('disk full');
});

it('an orphan that has ended is left as it is', async () => {
  const append = async () => {
    throw new Error('written twice');
  };
  const ended: TraceRow = { ...OPEN, status: 'completed' };
  await expect(failOrphan({ row: async () => ended, append }, 't', 'gone')).resolves.toBeUndefined();
});
