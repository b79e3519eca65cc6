import { EnvironmentServer } from 'proctor';
import { expectSound } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import { inMemory } from '../../src/mcp/in-memory.ts';
import { asModule, check, findingsOf, inThisProcess } from './check.ts';
import { createFill } from './unsound/fill.ts';
import { createFind } from './unsound/find.ts';

const PATIENCE = { timeout: 120_000 } as const;

describe('a sound environment', PATIENCE, () => {
  it.each([
    ['that grades a state', createFill],
    ['that grades an answer', createFind],
  ])('%s is accused of nothing, and warned of nothing', async (_what, create) => {
    const checked = await check(inMemory(() => create()));
    const remarks = checked.findings.filter(({ level }) => level !== 'note');
    expect(remarks).toEqual([]);
    expect(checked).toMatchObject({ may_share_process: true, scenarios: [{ tasks: 2 }] });
  });

  it('may print what it likes: a megabyte with each call, in a process of its own', async () => {
    const checked = await check(asModule('./sound/prints-much.ts'), { tasks: 1 });
    expect(findingsOf(checked, 'error')).toEqual([]);
  });

  it('may differ where it says that it does', async () => {
    const create = () => {
      const env = new EnvironmentServer({ name: 'clock' });
      env.tool('now', { description: 'Gives the time.', annotations: { readOnlyHint: true } }, () =>
        process.hrtime.bigint().toString(),
      );
      let isRung = false;
      env.tool('ring', { description: 'Rings the bell.' }, () => {
        isRung = true;
      });
      const calls = [
        { name: 'now', arguments: {} },
        { name: 'ring', arguments: {} },
      ];
      env.scenario(
        'ring',
        { description: 'Ring.', volatile: ['now'], tasks: [{ id: 'one' }], solution: () => ({ calls, answer: '' }) },
        async function* () {
          isRung = false;
          yield 'Ring the bell after you have looked at the clock.';
          return { reward: isRung ? 1 : 0, info: { isRung } };
        },
      );
      return env;
    };
    expect(findingsOf(await check(inMemory(create)), 'error')).not.toContain('deterministic');
  });
});

describe('an unsound environment', PATIENCE, () => {
  it.each([
    ['pays-idleness', 'idle'],
    ['leaks-by-resource', 'leak'],
    ['says-the-words', 'grader_strength'],
  ])('%s is found by %s', async (name, finding) => {
    const checked = await check(await inThisProcess(`./unsound/${name}.ts`));
    expect(findingsOf(checked, 'error')).toEqual([finding]);
  });

  it('that hangs in setup is an error of start once the limit is over, and ends the tries of that scenario alone', async () => {
    const checked = await check(await inThisProcess('./unsound/hangs-in-setup.ts'), { limitMs: 2_000 });
    expect(checked.findings.filter(({ level }) => level === 'error')).toMatchObject([
      { finding: 'start', scenario: 'wait', message: expect.stringContaining('did not end within 2 s') },
    ]);
  });

  it('that is none is an error of start', async () => {
    const checked = await check(inMemory((() => ({})) as never));
    expect(checked).toMatchObject({ may_share_process: null, findings: [{ finding: 'start', level: 'error' }] });
  });

  it('fails the test that expects it to be sound, which says why', async () => {
    const { default: paysIdleness } = await import('./unsound/pays-idleness.ts');
    const expecting = expectSound(paysIdleness);
    await expect(expecting).rejects.toThrow(/not sound:\n- error idle \(fill\/\w+\): An agent that does nothing/);
  });
});
