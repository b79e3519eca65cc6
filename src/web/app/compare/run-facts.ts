import { runningMs } from '../../../contract/running-time.ts';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { durationText, grouped, moneyText, rewardText } from '../../../support/text/figures.ts';
import { preview } from '../../format.ts';
import { isSameJson } from './canonical.ts';

/** One row of the table: a value for each run. */
export interface Fact {
  readonly name: string;
  readonly values: readonly string[];
  readonly isSame: boolean;
  /** The difference of each run to the first one; empty if it means nothing. */
  readonly deltas: readonly string[];
}

/** A part of the reward. */
export interface Score extends Fact {
  readonly numbers: readonly (number | null)[];
}

/** Subscores of the evaluations by name, in order of appearance. */
export function scoresOf(traces: readonly TraceSummary[]): readonly Score[] {
  const names = new Set(traces.flatMap(({ evaluation }) => evaluation?.subscores.map(({ name }) => name) ?? []));
  return [...names].map((name) => {
    const numbers = traces.map(
      ({ evaluation }) => evaluation?.subscores.find((subscore) => subscore.name === name)?.value ?? null,
    );
    return { ...numberFact(name, numbers, rewardText), numbers };
  });
}

/** Results and costs of the runs, then the inputs that differ. */
export function factsOf(traces: readonly TraceSummary[]): readonly Fact[] {
  const isCostKnown = traces.some(({ usage }) => usage.cost_usd !== null);
  return [
    textFact('Model', traces, ({ model }) => model),
    numberFact(
      'Steps',
      numbersOf(traces, ({ usage }) => usage.model_calls),
      grouped,
    ),
    numberFact(
      'Tool calls',
      numbersOf(traces, ({ usage }) => usage.tool_calls),
      grouped,
    ),
    numberFact(
      'Tokens in',
      numbersOf(traces, ({ usage }) => usage.prompt_tokens),
      grouped,
    ),
    numberFact(
      'Tokens out',
      numbersOf(traces, ({ usage }) => usage.completion_tokens),
      grouped,
    ),
    ...(isCostKnown
      ? [
          numberFact(
            'Cost',
            numbersOf(traces, ({ usage }) => usage.cost_usd),
            moneyText,
          ),
        ]
      : []),
    numberFact('Duration', numbersOf(traces, runningMs), durationText),
    ...givenFacts(traces).filter(({ isSame }) => !isSame),
  ];
}

/** Undefined if all runs have the same scenario and arguments; otherwise a text about the difference. */
export function describeScenarios(traces: readonly TraceSummary[]): string | undefined {
  const names = new Set(traces.map(({ env_name, scenario_name }) => `${env_name} / ${scenario_name}`));
  if (names.size > 1) return `These runs are not of the same scenario: ${[...names].join(', ')}.`;
  const other = argumentNames(traces).filter((name) => !isSameIn(traces, ({ scenario_args }) => scenario_args[name]));
  if (other.length === 0) return undefined;
  return `These runs are of the same scenario, but not with the same arguments: ${other.join(', ')}.`;
}

/** A signed difference in the format of the numbers; empty for none. */
export function describeDelta(base: number | null, value: number | null, format: (number: number) => string): string {
  if (base === null || value === null) return '';
  const size = format(Math.abs(value - base));
  // A difference that rounds to zero is not shown.
  return size === format(0) ? '' : `${value > base ? '+' : '−'}${size}`;
}

function givenFacts(traces: readonly TraceSummary[]): readonly Fact[] {
  const versions = [
    ['Environment version', ({ versions }: TraceSummary) => versions.environment],
    ['Environment code', ({ versions }: TraceSummary) => versions.environment_hash?.slice(0, HASH_LENGTH) ?? null],
    ['Proctor', ({ versions }: TraceSummary) => versions.proctor],
    ['MCP', ({ versions }: TraceSummary) => versions.protocol],
    ['Node.js', ({ versions }: TraceSummary) => versions.node],
  ] as const;
  return [
    textFact('Environment', traces, ({ env_name }) => env_name),
    textFact('Scenario', traces, ({ scenario_name }) => scenario_name),
    ...membersOf('', traces, ({ scenario_args }) => scenario_args),
    textFact('Seed', traces, ({ seed }) => seed),
    ...membersOf('', traces, ({ sampling }) => sampling),
    textFact('Steps at most', traces, ({ max_steps }) => max_steps),
    textFact('Attempt', traces, ({ attempt }) => attempt),
    textFact('Origin', traces, ({ origin }) => origin),
    ...versions.map(([name, pick]) => textFact(name, traces, pick)),
    ...membersOf('metadata.', traces, ({ metadata }) => metadata),
  ];
}

/** Characters of a hash that are enough to tell two apart. */
const HASH_LENGTH = 12;
const VALUE_LENGTH = 160;

type Pick<Value> = (trace: TraceSummary) => Value;

function membersOf(
  prefix: string,
  traces: readonly TraceSummary[],
  pick: Pick<Readonly<Record<string, unknown>>>,
): readonly Fact[] {
  const names = [...new Set(traces.flatMap((trace) => Object.keys(pick(trace))))];
  return names.map((name) => textFact(`${prefix}${name}`, traces, (trace) => pick(trace)[name]));
}

function argumentNames(traces: readonly TraceSummary[]): readonly string[] {
  return [...new Set(traces.flatMap(({ scenario_args }) => Object.keys(scenario_args)))];
}

function textFact(name: string, traces: readonly TraceSummary[], pick: Pick<unknown>): Fact {
  const values = traces.map((trace) => {
    const value = pick(trace);
    return value === null || value === undefined || value === '' ? '–' : preview(value, VALUE_LENGTH);
  });
  return { name, values, isSame: isSameIn(traces, pick), deltas: values.map(() => '') };
}

function numberFact(name: string, numbers: readonly (number | null)[], format: (number: number) => string): Fact {
  const [base = null] = numbers;
  return {
    name,
    values: numbers.map((number) => (number === null ? '–' : format(number))),
    isSame: numbers.every((number) => number === base),
    deltas: numbers.map((number, index) => (index === 0 ? '' : describeDelta(base, number, format))),
  };
}

function numbersOf(traces: readonly TraceSummary[], pick: Pick<number | null>): readonly (number | null)[] {
  return traces.map(pick);
}

function isSameIn(traces: readonly TraceSummary[], pick: Pick<unknown>): boolean {
  const [first, ...others] = traces.map((trace) => pick(trace) ?? null);
  return others.every((other) => isSameJson(first, other));
}
