import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../../src/contract/service/event.ts';
import type { TraceSummary } from '../../../src/contract/service/trace.ts';
import { TraceProjection, toSummary } from '../../../src/store/traces/rows/projection.ts';
import { align, SAME } from '../../../src/web/app/compare/align.ts';
import { canonicalJson, isSameJson } from '../../../src/web/app/compare/canonical.ts';
import { toTraceIds } from '../../../src/web/app/compare/compare-path.ts';
import { toCompared, toRows } from '../../../src/web/app/compare/compared-rows.ts';
import { diffSide } from '../../../src/web/app/compare/compared-text.ts';
import { ASPECTS, judge } from '../../../src/web/app/compare/differences.ts';
import { findFirstDifference } from '../../../src/web/app/compare/first-difference.ts';
import { describeSame, foldRows } from '../../../src/web/app/compare/fold-rows.ts';
import { describeScenarios, factsOf, scoresOf } from '../../../src/web/app/compare/run-facts.ts';
import { Timeline } from '../../../src/web/app/trace/timeline.ts';
import { newTrace, stamp } from '../../store/traces/events.ts';
import { CAREFUL, HASTY, MENDING, type RunParts, runOf, type StepParts } from '../compared-traces.ts';

const queuedOf = (queued: Parameters<typeof newTrace>[0] = {}): EventBody => ({
  type: 'run.queued',
  ...newTrace({ ...MENDING, ...queued }).queued,
  previous_end: null,
});

function entriesOf(parts: RunParts) {
  const timeline = new Timeline();
  for (const event of stamp([queuedOf(), ...runOf(parts)])) timeline.add(event);
  return toCompared(timeline.attempts().at(-1)?.entries ?? []);
}

const rowsOf = (...runs: readonly RunParts[]) => toRows(runs.map(entriesOf)).map(judge);
const stepsOf = (...runs: readonly (readonly StepParts[])[]) => rowsOf(...runs.map((steps) => ({ steps })));

/** `1 2`: step 1 of the first beside step 2 of the second; `-`: nothing. */
const places = (rows: ReturnType<typeof rowsOf>) =>
  rows
    .filter(({ cells }) => cells.some((cell) => cell?.kind === 'step'))
    .map(({ cells }) => cells.map((cell) => (cell?.kind === 'step' ? cell.step : '-')).join(' '));

const calling = (name: string, value: number | string = 0, result = 'ok'): StepParts => ({
  calls: [{ name, arguments: { value }, result }],
});

function summaryOf(parts: RunParts, queued?: Parameters<typeof newTrace>[0]): TraceSummary {
  const projection = new TraceProjection({ traceId: 'a'.repeat(32), traceUrl: '' });
  for (const event of stamp([queuedOf(queued), ...runOf(parts)])) projection.add(event);
  return toSummary(projection.toTrace());
}

describe('steps of two runs', () => {
  it('stand beside each other by their calls: a step more shifts nothing', () => {
    const [a, b, c, d] = [calling('a'), calling('b'), calling('c'), calling('d')];
    expect(places(stepsOf([a, b, c], [a, d, b, c]))).toEqual(['1 1', '- 2', '2 3', '3 4']);
    expect(places(stepsOf([a, d, b, c], [a, b, c]))).toEqual(['1 1', '2 -', '3 2', '4 3']);
    expect(places(stepsOf([a, b], []))).toEqual(['1 -', '2 -']);
  });

  it('of the same tool with other arguments belong together before those of other tools do', () => {
    const rows = stepsOf(
      [calling('read', 1), calling('write', 1)],
      [calling('list'), calling('read', 2), calling('write', 1)],
    );
    expect(places(rows)).toEqual(['- 1', '1 2', '2 3']);
    expect(rows.slice(2).map(({ differences }) => [...(differences[1] ?? [])])).toEqual([['calls'], []]);
  });

  it('that have nothing in common stand beside each other in their order', () => {
    expect(places(stepsOf([calling('a'), calling('b')], [calling('c'), calling('d')]))).toEqual(['1 1', '2 2']);
  });

  it('of more runs are aligned with the first one, and among themselves where that has nothing', () => {
    const [a, b, x, y] = [calling('a'), calling('b'), calling('x'), calling('y')];
    expect(places(stepsOf([a, b], [a, x, b], [a, y, x, b]))).toEqual(['1 1 1', '- - 2', '- 2 3', '2 3 4']);
    expect(places(stepsOf([], [a, b], [b]))).toEqual(['- 1 -', '- 2 1']);
  });

  it('have rows of their own anchors, each once', () => {
    const ids = rowsOf(HASTY, CAREFUL).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.slice(0, 4)).toEqual(['a-prompt', 'a-step-1', 'b-step-2', 'a-step-2']);
  });
});

describe('an alignment', () => {
  const aligned = (left: string, right: string) =>
    align(left.length, right.length, (i, j) => (left[i] === right[j] ? SAME : 0));

  it('has each place of both once and in order, and as many pairs as there can be', () => {
    const texts = ['', 'a', 'ab', 'ba', 'abcabba', 'cbabac', 'aaaa', 'xaxbxc'];
    const longest = (one: string, two: string): number =>
      one === '' || two === ''
        ? 0
        : one[0] === two[0]
          ? 1 + longest(one.slice(1), two.slice(1))
          : Math.max(longest(one.slice(1), two), longest(one, two.slice(1)));
    for (const left of texts) {
      for (const right of texts) {
        const pairs = aligned(left, right);
        const lefts = pairs.flatMap((pair) => (pair.left === undefined ? [] : [pair.left]));
        const rights = pairs.flatMap((pair) => (pair.right === undefined ? [] : [pair.right]));
        expect([left, right, lefts]).toEqual([left, right, [...left].map((_, index) => index)]);
        expect([left, right, rights]).toEqual([left, right, [...right].map((_, index) => index)]);
        const together = pairs.filter((pair) => pair.left !== undefined && pair.right !== undefined).length;
        expect([left, right, together]).toEqual([left, right, longest(left, right)]);
      }
    }
  });

  it('of sequences too long to align puts one beside the other, and never what must not be', () => {
    const pairs = align(4_000, 4_001, (left, right) => (left === 7 && right === 7 ? 0 : 1));
    expect(pairs).toHaveLength(4_002);
    expect(pairs.slice(7, 9)).toEqual([
      { left: 7, right: undefined },
      { left: undefined, right: 7 },
    ]);
  });
});

describe('what differs', () => {
  it('is told apart: calls, results, text, reasoning, and what one of them lacks', () => {
    const step = (change: StepParts): StepParts => ({
      ...calling('read'),
      text: 'I read.',
      reasoning: 'So.',
      ...change,
    });
    const differences = (change: StepParts) => [...(stepsOf([step({})], [step(change)])[1]?.differences[1] ?? [])];
    expect(differences({})).toEqual([]);
    expect(differences(calling('read', 1))).toEqual(['calls']);
    expect(differences(calling('read', 0, 'no'))).toEqual(['results']);
    expect(differences({ text: 'I look.' })).toEqual(['text']);
    expect(differences({ reasoning: 'Thus.' })).toEqual(['reasoning']);
    expect(differences({ calls: [] })).toEqual(['calls']);
    expect([...(stepsOf([step({})], [])[1]?.differences[1] ?? [])]).toEqual(['missing']);
  });

  it('is not the order of the members of JSON', () => {
    expect(canonicalJson({ b: [1, { d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[1,{"c":2,"d":1}]}');
    expect(isSameJson({ a: 1, b: [1, 2] }, { b: [1, 2], a: 1 })).toBe(true);
    for (const [one, other] of [
      [{ a: 1 }, { a: 1, b: undefined }],
      [{ a: undefined }, { b: undefined }],
      [
        [1, 2],
        [2, 1],
      ],
      [[], {}],
      [null, {}],
      ['1', 1],
    ]) {
      expect([one, other, isSameJson(one, other)]).toEqual([one, other, false]);
    }
  });

  it('is folded away where it does not count, and is said to be the same', () => {
    const rows = rowsOf(HASTY, { ...HASTY, steps: HASTY.steps.map((step) => ({ ...step, text: 'Otherwise.' })) });
    const kinds = (counted: readonly (typeof ASPECTS)[number][]) =>
      foldRows(rows, new Set(counted)).map((part) => (part.kind === 'same' ? describeSame(part.rows) : part.row.id));
    expect(kinds(['calls', 'results'])).toEqual([
      'The same prompt, 5 equal steps, the same answer, the same evaluation',
    ]);
    expect(kinds(ASPECTS)).toEqual([
      'The same prompt',
      ...[1, 2, 3, 4, 5].map((step) => `a-step-${step}`),
      'The same answer, the same evaluation',
    ]);
  });
});

describe('where runs part', () => {
  const told = (...runs: readonly RunParts[]) => {
    const first = findFirstDifference(rowsOf(...runs));
    return first === undefined ? undefined : `${first.place}: ${first.text}`;
  };
  const steps = (...parts: readonly StepParts[]): RunParts => ({ steps: parts, answer: 'done' });

  it('is said in a sentence', () => {
    expect(told(HASTY, CAREFUL)).toBe('step 2: Only B has it: it calls run_command.');
    expect(told(HASTY, HASTY)).toBeUndefined();
    expect(told(steps(calling('a', 1)), steps(calling('a', 2)))).toBe(
      'step 1: A and B both call a, but not with the same value.',
    );
    expect(told(steps(calling('a')), steps(calling('b')))).toBe('step 1: A calls a, B calls b.');
    expect(told(steps(calling('a', 1, 'x')), steps(calling('a', 1, 'y')))).toBe(
      'step 1: A and B make the same call of a, but its results differ.',
    );
    expect(told({ ...HASTY, prompt: 'Break it.' }, HASTY)).toBe('the prompt: A and B were not told the same.');
    expect(told({ ...HASTY, answer: 'x' }, HASTY)).toBe(
      'the answer: A and B did the same, but gave different answers.',
    );
    expect(told({ ...HASTY, answer: 'x', reward: 1 }, HASTY)).toMatch(/^the answer: /);
    expect(told({ ...HASTY, reward: 1 }, HASTY)).toBe('the evaluation: A and B were not evaluated alike.');
  });

  it('is what they did, even where they said something else before', () => {
    const worded = (text: string, value: number) => steps({ text, calls: [] }, calling('a', value));
    expect(told(worded('I go.', 1), worded('I come.', 2))).toMatch(/^step 2: .* value\.$/);
    const saying = (text: string, value: number) => steps({ ...calling('a', value), text });
    expect(told(saying('I go.', 1), saying('I come.', 1), saying('I go.', 2))).toBe(
      'step 1: A and C both call a, but not with the same value.',
    );
    expect(told(worded('I go.', 1), worded('I come.', 1))).toBe('step 1: A and B do not say the same.');
  });
});

describe('the runs of a comparison', () => {
  it('have what came out and what it took beside each other, with the difference to the first', () => {
    const traces = [summaryOf(HASTY, { model: 'one', seed: 7 }), summaryOf(CAREFUL, { model: 'two', seed: 7 })];
    const facts = new Map(factsOf(traces).map((fact) => [fact.name, fact]));
    expect(facts.get('Model')).toMatchObject({ values: ['one', 'two'], isSame: false });
    expect(facts.get('Steps')).toMatchObject({ values: ['5', '6'], deltas: ['', '+1'] });
    expect(facts.get('Cost')).toMatchObject({ values: ['$0.021', '$0.037'], deltas: ['', '+$0.016'] });
    expect(facts.get('Environment code')?.values).toEqual(['ab12ab12ab12', 'cd34cd34cd34']);
    expect([facts.has('Seed'), facts.has('Node.js'), facts.has('project')]).toEqual([false, false, false]);
    expect(scoresOf(traces)).toMatchObject([
      { name: 'visible tests', values: ['1', '1'], deltas: ['', ''] },
      { name: 'hidden tests', values: ['0.333', '1'], deltas: ['', '+0.667'] },
      { name: 'tests untouched', isSame: true },
    ]);
  });

  it('have no cost where none is known, and no difference to one that is not', () => {
    const [free, paid] = [summaryOf({ ...HASTY, cost: null }), summaryOf(HASTY)];
    expect(factsOf([free, free]).map(({ name }) => name)).not.toContain('Cost');
    expect(factsOf([free, paid]).find(({ name }) => name === 'Cost')).toMatchObject({
      values: ['–', '$0.021'],
      deltas: ['', ''],
    });
  });

  it('are said not to be of one scenario, or not with the same arguments', () => {
    const run = (queued: Parameters<typeof newTrace>[0]) => summaryOf(HASTY, queued);
    expect(describeScenarios([run({}), run({})])).toBeUndefined();
    expect(describeScenarios([run({}), run({ scenario_args: { project: 'timer', hidden_tests: true } })])).toBe(
      'These runs are of the same scenario, but not with the same arguments: project.',
    );
    expect(describeScenarios([run({}), run({ scenario_name: 'count_to', env_name: 'counter' })])).toBe(
      'These runs are not of the same scenario: workspace / fix_tests, counter / count_to.',
    );
  });
});

describe('a text beside another', () => {
  const marked = (text: string, against: string, side: 'known' | 'other', by: 'lines' | 'words') =>
    diffSide(text, against, side, by)?.map(({ kind, text: part }) => (kind === 'same' ? part : `[${part}]`));

  it('has marks where the other has something else, and loses nothing', () => {
    expect(marked('take from the front', 'take from the end', 'known', 'words')?.join('')).toBe(
      'take from the [front]',
    );
    expect(marked('take from the end', 'take from the front', 'other', 'words')?.join('')).toBe('take from the [end]');
    expect(marked('a\nb\nc', 'a\nc', 'known', 'lines')).toEqual(['a', '[b]', 'c']);
    expect(marked('a\nc', 'a\nb\nc', 'other', 'lines')).toBeUndefined();
  });

  it('has none where next to nothing is the same', () => {
    expect(marked('one two three', 'four five six', 'other', 'words')).toBeUndefined();
  });
});

it('an address of a comparison names traces, each once, and nothing else', () => {
  const [a, b] = ['a'.repeat(32), 'b'.repeat(32)];
  expect(toTraceIds(`${a},${b},${a},x,<script>,${'A'.repeat(32)},`)).toEqual([a, b]);
  expect(toTraceIds(null)).toEqual([]);
});
