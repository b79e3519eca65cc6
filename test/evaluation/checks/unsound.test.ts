import { describe, expect, it } from 'vitest';
import { asModule, check, findingsOf, inThisProcess } from './check.ts';

const PATIENCE = { timeout: 120_000 } as const;
/** Each starts some fifteen processes, one after the other: seconds, or a minute and a half on a machine with much to do. */
const PATIENCE_WITH_PROCESSES = { timeout: 300_000 } as const;

/** Each has one fault: the finding that is about it, and a part of its sentence. */
const ERRORS = [
  ['pays-idleness', 'idle', 'does nothing'],
  ['breaks-on-an-empty-answer', 'idle', 'breaks the grader'],
  ['ignores-its-judge', 'idle', 'does nothing'],
  ['pays-any-call', 'random', 'calls tools by chance'],
  ['answer-in-the-prompt', 'echo', 'is in the prompt'],
  ['takes-any-part', 'echo', 'is in the prompt'],
  ['pays-for-pass', 'forger', 'PASS'],
  ['reads-the-reward-from-the-answer', 'forger', 'reward'],
  ['leaks-by-description', 'leak', 'the tool check_code'],
  ['leaks-by-error', 'leak', 'an error of check_code'],
  ['leaks-by-resource', 'leak', 'the resource book://codes'],
  ['leaks-by-prompt', 'leak', 'the prompt hint'],
  ['leaks-by-system', 'leak', 'the system text'],
  ['random-without-seed', 'deterministic', 'the result of call 1, put('],
  ['time-in-the-prompt', 'deterministic', 'the prompt'],
  ['never-starts-over', 'order', 'after it in the same session'],
  ['says-the-words', 'grader_strength', 'without any of its 1 calls'],
  ['pays-twice', 'bounded', 'A reward is 2'],
  ['subscores-disagree', 'bounded', 'the weighted mean of its subscores 0.5'],
  ['solution-does-not-solve', 'solvable', 'Its solution gets 0'],
  ['solution-is-refused', 'solvable', 'fill_up'],
  ['solution-throws', 'solvable', 'the plan is lost'],
  ['setup-throws', 'start', 'the shelf fell down'],
  ['reads-files', 'forger', 'The tool read_file gives an agent'],
  ['runs-commands', 'forger', 'The tool bash gives an agent'],
] as const;

/** Those whose fault is one of processes. */
const ERRORS_OF_PROCESSES = [
  ['shares-state', 'isolated', 'beside it in one process'],
  ['depends-on-order', 'order', 'after it in one process'],
  ['remembers-in-a-file', 'order', 'after it in a process of its own'],
  ['locks-the-machine', 'isolated', 'beside it in another process'],
  ['depends-on-the-day', 'deterministic', 'On another day'],
  ['leaves-timers', 'clean', 'timer'],
  ['leaves-a-listener', 'clean', 'listener on a port'],
  ['leaves-an-unrefed-listener', 'clean', 'listener on a port'],
  ['leaves-processes', 'clean', 'in a process group that outlives its own'],
  ['leaves-files', 'clean', 'temporary files'],
  ['shows-proc', 'forger', 'The tool show_state gives an agent a variable of its process'],
  ['serves-files', 'forger', 'A template of a resource gives'],
  ['crashes-on-the-forger', 'forger', 'ends the environment'],
  ['crashes-on-a-path', 'forger', 'ends its process'],
] as const;

const WARNINGS = [
  ['pays-idleness-in-part', 'idle', 'a part of the reward: 0.5'],
  ['accepts-a-doubled-call', 'grader_strength', 'twice'],
  ['ignores-an-argument', 'grader_strength', 'with date "2026-03-02" instead of "2026-03-01" in call 1, book('],
  ['ignores-the-order', 'grader_strength', '(their order matters: info differs)'],
  ['ignores-half-of-the-answer', 'grader_strength', 'with the answer'],
  ['leaks-by-a-hub', 'leak', 'a result of desk.summarize'],
  ['leaks-by-another-tool', 'leak', 'a result of status'],
  ['undescribed', 'described', 'The tool put has no description'],
  ['throws-errors', 'described', 'throw a ToolError'],
  ['gives-too-much', 'described', '180,000 characters'],
  ['no-solution', 'solvable', 'It has no solution'],
  ['nothing-fits', 'start', 'No arguments could be made'],
] as const;

describe('an environment with one fault', PATIENCE, () => {
  it.each(ERRORS)('%s is found by %s, and accused of nothing else', async (name, finding, words) => {
    const checked = await check(await inThisProcess(`./unsound/${name}.ts`));
    expect(findingsOf(checked, 'error'), JSON.stringify(checked.findings, null, 1)).toEqual([finding]);
    expect(checked.findings[0]?.message).toContain(words);
  });

  it.each(WARNINGS)('%s is warned of by %s, and accused of nothing', async (name, finding, words) => {
    const checked = await check(await inThisProcess(`./unsound/${name}.ts`));
    expect(findingsOf(checked, 'error'), JSON.stringify(checked.findings, null, 1)).toEqual([]);
    expect(findingsOf(checked, 'warning')).toEqual([finding]);
    expect(checked.findings[0]?.message).toContain(words);
  });
});

describe('an environment with one fault of its processes', PATIENCE_WITH_PROCESSES, () => {
  it.each(ERRORS_OF_PROCESSES)('%s is found by %s, and accused of nothing else', async (name, finding, words) => {
    const checked = await check(asModule(`./unsound/${name}.ts`));
    expect(findingsOf(checked, 'error'), JSON.stringify(checked.findings, null, 1)).toEqual([finding]);
    expect(checked.findings[0]?.message).toContain(words);
  });
});
