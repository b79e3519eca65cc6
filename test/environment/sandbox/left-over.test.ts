import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { EngineError, type SandboxRecord } from '../../../src/environment/sandbox/engine.ts';
import {
  holderOfThisProcess,
  removeLeftOver,
  stateOfHolder,
} from '../../../src/environment/sandbox/sessions/left-over.ts';

/** The label of a process that has ended: the same machine and namespace, with another process. */
function holderThatEnded(): string {
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  const [machine, namespace] = holderOfThisProcess().split(':');
  return [machine, namespace, pid, '12345'].join(':');
}

function record(id: string, holder: string | undefined, owner = 'db-1'): SandboxRecord {
  const labels = { owner, holder, run: undefined, session: 's', environment: 'e' } as SandboxRecord['labels'];
  return { id, engine: 'fake', image: 'x', labels, createdAt: new Date(0), memoryBytes: undefined };
}

function engineWith(records: readonly SandboxRecord[], failing: readonly string[] = []) {
  const removed: string[] = [];
  return {
    removed,
    list: async () => records,
    remove: async (id: string) => {
      if (failing.includes(id)) throw new EngineError('refused', `${id} is busy`);
      removed.push(id);
    },
  };
}

const signal = new AbortController().signal;

describe('the process that holds a sandbox', () => {
  it('is alive, gone, or unknown from here', () => {
    expect(stateOfHolder(holderOfThisProcess())).toBe('alive');
    expect(stateOfHolder(holderThatEnded())).toBe('gone');
    expect(stateOfHolder('other-machine:1:2:3')).toBe('unknown');
    expect(stateOfHolder(`${hostname()}:another-namespace:2:3`)).toBe('unknown');
    expect(stateOfHolder(undefined)).toBe('unknown');
  });
});

describe('a sweep of sandboxes', () => {
  it('removes those whose process is gone, however young, and none of a process that lives, however old', async () => {
    const engine = engineWith([record('dead', holderThatEnded()), record('live', holderOfThisProcess())]);
    await removeLeftOver(engine, 'db-1', signal);
    expect(engine.removed).toEqual(['dead']);
  });

  it('leaves those of other machines alone, unless the operator asks for them', async () => {
    const engine = engineWith([record('far', 'other-machine:1:2:3')]);
    await removeLeftOver(engine, 'db-1', signal);
    expect(engine.removed).toEqual([]);
    await removeLeftOver(engine, 'db-1', signal, true);
    expect(engine.removed).toEqual(['far']);
  });

  it('never removes one of another database, even if the engine lists it', async () => {
    const engine = engineWith([record('foreign', holderThatEnded(), 'db-2')]);
    await removeLeftOver(engine, 'db-1', signal, true);
    expect(engine.removed).toEqual([]);
  });

  it('goes on after one that cannot be removed, and tells which', async () => {
    const gone = holderThatEnded();
    const engine = engineWith([record('busy', gone), record('free', gone)], ['busy']);
    const removals = await removeLeftOver(engine, 'db-1', signal);
    expect(engine.removed).toEqual(['free']);
    expect(removals.map(({ record: { id }, error }) => [id, error === undefined])).toEqual([
      ['busy', false],
      ['free', true],
    ]);
  });
});
