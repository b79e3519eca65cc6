import { isJsonObject } from '../../../contract/json.ts';
import type { Subscore } from '../../../contract/scenario.ts';
import type { ForeignFacts } from '../foreign.ts';
import { FormatError, type ReadContext } from '../imported-trace.ts';
import type { InspectSample, InspectScore } from './shapes.ts';

/** Letters of Inspect's scorers: correct, incorrect, partial, no answer. */
const LETTERS: Readonly<Record<string, number>> = { C: 1, I: 0, P: 0.5, N: 0 };

/**
 * Reward and evaluation of a sample, from the first scorer or the one in the options. The other scorers become
 * subscores. A sample without a value has neither.
 */
export function readScores(
  { scores, target }: InspectSample,
  { options, losses }: ReadContext,
): Pick<ForeignFacts, 'reward' | 'evaluation' | 'answer'> {
  const all = Object.entries(scores ?? {});
  const main = options.score === undefined ? all[0] : all.find(([name]) => name === options.score);
  if (main === undefined) {
    if (all.length === 0) return {};
    const known = all.map(([name]) => name.slice(0, 60)).slice(0, 20);
    throw new FormatError(`No scorer is called ${JSON.stringify(options.score)}; there are ${known.join(', ')}.`);
  }
  const [name, score] = main;
  const reward = numberOf(score.value);
  const own = parts(name, score);
  const others = all
    .filter((each) => each !== main)
    .flatMap(([other, each]) => {
      const value = numberOf(each.value);
      return value === null ? parts(other, each) : [{ name: other, value }];
    });
  const subscores = [...own, ...others];
  if (reward === null) {
    losses.add('samples[].scores', 'the scorer has no single number: the trace has no reward');
    return answerOf(score);
  }
  const info = { ...jsonOf(score.metadata), ...(target === undefined || target === '' ? {} : { target }) };
  return {
    reward,
    evaluation: { reward, done: true, content: score.explanation ?? null, info, subscores, is_error: false },
    ...answerOf(score),
  };
}

function answerOf({ answer }: InspectScore): Pick<ForeignFacts, 'answer'> {
  return typeof answer === 'string' ? { answer } : {};
}

function numberOf(value: unknown): number | null {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return typeof value === 'string' && Object.hasOwn(LETTERS, value) ? (LETTERS[value] ?? null) : null;
}

/** The values of a scorer that returns several. */
function parts(name: string, { value }: InspectScore): Subscore[] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, each]) => {
    const number = numberOf(each);
    return number === null ? [] : [{ name: `${name}.${key}`, value: number }];
  });
}

function jsonOf(given: unknown) {
  return isJsonObject(given) ? given : {};
}
