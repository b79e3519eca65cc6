import { describe, it } from 'vitest';
import { openDocker } from '../../src/environment/sandbox/docker/engine.ts';
import { describeEngine } from '../environment/sandbox/engine-suite.ts';
import { testEngines } from './engines.ts';
import { leftovers } from './leftovers.ts';

const engines = await testEngines();

describe.skipIf(engines.length > 0)('container engines', () => {
  it.skip('are not on this machine', () => {});
});

for (const { kind, url, busy } of engines) {
  describeEngine(kind, async () => {
    const engine = openDocker({ host: url });
    return {
      engine,
      image: busy,
      otherUser: 'root',
      isOpen: false,
      leftovers: (owner) => leftovers(url, owner),
      close: () => engine.close(),
    };
  });
}
