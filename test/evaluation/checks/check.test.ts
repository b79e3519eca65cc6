import { setTimeout as delay } from 'node:timers/promises';
import { EnvironmentServer } from 'proctor';
import { expectSound } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import type { CheckedEnvironment } from '../../../src/contract/service/check.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { asModule, check, findingsOf, inThisProcess } from './check.ts';
import { createFill } from './unsound/fill.ts';
import { createFind } from './unsound/find.ts';
import { oftenLucky, seldomLucky } from './unsound/lucky.ts';

const PATIENCE = { timeout: 120_000 } as const;

/** Findings without the notes of what was not tried. */
const toldBy = ({ findings }: CheckedEnvironment) => findings.filter(({ untried }) => !untried);

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
    expect(checked).toMatchObject({ may_share_process: null });
    expect(toldBy(checked)).toMatchObject([{ finding: 'start', level: 'error' }]);
    expect(new Set(checked.tried.map(({ state }) => state))).toEqual(new Set(['found', 'not_tried']));
  });

  it('is told of one task alone by the command of a finding, and has no other', async () => {
    const { default: leaks } = await import('./unsound/leaks-by-resource.ts');
    const checked = await check(inMemory(leaks));
    expect(checked.findings[0]).toMatchObject({ finding: 'leak', task: expect.any(String) });
    const { scenario, task, reproduce } = checked.findings[0] ?? {};
    expect(reproduce).toBe(`proctor check tried --scenario ${scenario} --task ${task} --seed 0 --timeout 20`);
    const alone = await check(inMemory(leaks), { only: { scenario: 'find', task: 'grace' } });
    expect(alone.scenarios).toEqual([{ name: 'find', tasks: 1 }]);
    expect(findingsOf(alone, 'error')).toEqual(['leak']);
    const none = await check(inMemory(leaks), { only: { task: 'nobody' } });
    expect(toldBy(none)).toMatchObject([{ finding: 'start', message: 'There is no task "nobody".' }]);
  });

  it('fails the test that expects it to be sound, which says why', async () => {
    const { default: paysIdleness } = await import('./unsound/pays-idleness.ts');
    const expecting = expectSound(paysIdleness);
    await expect(expecting).rejects.toThrow(/not sound:\n- error idle \(fill\/\w+\): An agent that does nothing/);
  });
});

describe('an environment whose sessions have a process each', PATIENCE, () => {
  /** The shelf is of the module, and empty in each setup. */
  const shelf = { count: 0, calls: 0 };
  const options = { sessionsPerProcess: 1 };

  it('has a note of what they share', async () => {
    const { findings, may_share_process } = await check(inMemory(() => createFill({ shelf, options })));
    const shared = findings.find(({ finding }) => finding === 'isolated' || finding === 'order');
    expect([shared?.level, may_share_process]).toEqual(['note', false]);
    expect(findings.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('has an error where a task changes the next one of the same session', async () => {
    const again = () => {
      let tasks = 0;
      const prompt = (count: number) => {
        tasks += 1;
        return `${tasks > 1 ? 'Once more: put' : 'Put'} exactly ${count} pieces on the shelf.`;
      };
      return createFill({ shelf, prompt, options });
    };
    const { findings } = await check(inMemory(again));
    expect(findings.filter(({ level }) => level === 'error')).toMatchObject([
      { finding: 'order', message: expect.stringContaining('after it in the same session') },
    ]);
  });
});

describe('a task that luck pays', PATIENCE, () => {
  const byChance = async (create: () => EnvironmentServer, tasks: number) => {
    const { findings } = await check(inMemory(create), { tasks });
    return findings.filter(({ finding }) => finding === 'random').map(({ level, message }) => ({ level, message }));
  };

  it('is warned of where that is seldom, whether one task is tried or two', async () => {
    const seldom = {
      level: 'warning',
      message: expect.stringContaining('passes in 2 of 20 sessions, as with the seed 2'),
    };
    expect(await byChance(seldomLucky, 1)).toEqual([seldom]);
    expect(await byChance(seldomLucky, 2)).toEqual([seldom]);
  });

  it('is an error where that is often', async () => {
    const often = { level: 'error', message: expect.stringMatching(/passes in 4 of \d+ sessions/) };
    expect(await byChance(oftenLucky, 1)).toEqual([often]);
  });
});

describe('an environment whose sessions take long', PATIENCE, () => {
  const createSlow = () => {
    const env = createFill();
    env.initialize(async ({ signal }) => {
      await delay(400, undefined, { signal });
    });
    return env;
  };

  it('is tried less, and what there was no time for is named', async () => {
    const checked = await check(inMemory(createSlow), { maxMs: 5_000 });
    const notes = checked.findings.map(({ level, finding, message }) => ({ level, finding, message }));
    expect(notes).toContainEqual({
      level: 'note',
      finding: 'start',
      message: expect.stringContaining('less is tried'),
    });
    expect(notes).toContainEqual({
      level: 'note',
      finding: expect.any(String),
      message: expect.stringMatching(/^Not tried .*: the 5 s of its check were over/),
    });
    expect(findingsOf(checked, 'error')).toEqual([]);
  });

  it('is not said to share processes where there was no time to try it', async () => {
    const checked = await check(inMemory(createSlow), { maxMs: 1 });
    const left = { level: 'note', untried: true, message: expect.stringContaining(': the 0 s of its check were over') };
    const ofTasks = ['idle', 'random', 'echo', 'leak'];
    const ofAll = [
      'forger',
      'forger',
      'deterministic',
      'isolated',
      'order',
      'clean',
      'secrets',
      'grader_strength',
      'bounded',
    ];
    const names = ['start', 'solvable', ...ofTasks, ...ofAll];
    expect(checked).toMatchObject({
      may_share_process: null,
      findings: names.map((finding) => ({ ...left, finding })),
    });
    const solvable = checked.findings.find(({ finding }) => finding === 'solvable');
    expect(solvable).toMatchObject({ scenario: 'fill', message: expect.stringContaining('Not tried with many, some') });
    const others = checked.tried.filter(({ state }) => state !== 'not_tried');
    // Descriptions are read before a session is played.
    expect(others).toEqual([{ finding: 'described', state: 'tried' }]);
  });
});
