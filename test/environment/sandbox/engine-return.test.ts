import { expect, it } from 'vitest';
import { EngineError } from '../../../src/environment/sandbox/engine.ts';
import { whenEngineIsBack } from '../../../src/environment/sandbox/sessions/engine-return.ts';

it.each(['No engine answers: start Docker', 'No engine answers: start Docker.'])(
  'an engine that stays away is an error of whole sentences: %s',
  async (message) => {
    const away = () => Promise.reject(new EngineError('unreachable', message));
    const waiting = whenEngineIsBack(away, AbortSignal.timeout(10_000), { awayMs: 0 });
    await expect(waiting).rejects.toThrow(/^No engine answers: start Docker\. The engine was away for 0 s\.$/);
  },
);
