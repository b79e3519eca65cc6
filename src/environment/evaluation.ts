import { isJsonObject, type JsonObject } from '../contract/json.ts';
import type { Evaluation, Subscore } from '../contract/scenario.ts';
import { preview } from '../schema/json-schema.ts';

/** The evaluation that a scenario may return. `reward` and subscores are finite; true is 1 and false 0. */
export type EvaluationInput = number | boolean | EvaluationObject;

type EvaluationObject = {
  /** Text about the evaluation, for people. */
  readonly content?: string | null | undefined;
  /** Anything that JSON can hold. */
  readonly info?: Readonly<Record<string, unknown>> | undefined;
  /** Makes no difference: an evaluation ends its scenario, so that the result always says true. */
  readonly done?: boolean | undefined;
} & (
  | { readonly reward: number; readonly subscores?: readonly SubscoreInput[] | undefined }
  /** The reward is the weighted mean of the subscores. */
  | { readonly reward?: undefined; readonly subscores: readonly SubscoreInput[] }
);

export interface SubscoreInput {
  readonly name: string;
  readonly value: number;
  /** 0 or more; 1 by default. */
  readonly weight?: number | undefined;
}

/** A scenario that ended without an evaluation: never a reward. */
class EvaluationMissingError extends Error {
  override readonly name = 'EvaluationMissingError';
}

/** An evaluation that is none: a reward that is not finite, subscores without weight, a word. */
class EvaluationInvalidError extends Error {
  override readonly name = 'EvaluationInvalidError';
}

/**
 * The evaluation as it goes over the wire.
 *
 * @throws EvaluationMissingError for nothing, EvaluationInvalidError for what is not an evaluation.
 */
export function toEvaluation(given: unknown): Evaluation {
  if (given === undefined || given === null) {
    throw new EvaluationMissingError('The scenario ended without an evaluation: return a reward, such as 1 or 0');
  }
  if (typeof given === 'number' || typeof given === 'boolean') return evaluationOf({ reward: Number(given) });
  if (isJsonObject(given)) return evaluationOf(given);
  throw invalid(`a scenario's evaluation is a number, a boolean or an object with a reward, got ${preview(given)}`);
}

function evaluationOf(given: Readonly<Record<string, unknown>>): Evaluation {
  const { content = null, info, done = true } = given;
  if (content !== null && typeof content !== 'string') throw invalid(`content has to be text, got ${preview(content)}`);
  if (typeof done !== 'boolean') throw invalid(`done has to be a boolean, got ${preview(done)}`);
  const subscores = toSubscores(given.subscores ?? []);
  const reward = given.reward ?? (subscores.length > 0 ? weightedMean(subscores) : undefined);
  if (reward === undefined) {
    throw new EvaluationMissingError(
      `The evaluation has neither a reward nor subscores; it has the keys ${preview(Object.keys(given))}`,
    );
  }
  if (!isFiniteNumber(reward)) throw invalid(`reward has to be a finite number, got ${show(reward)}`);
  return { reward, done: true, content, info: toInfo(info ?? {}), subscores, is_error: false };
}

function toSubscores(given: unknown): Subscore[] {
  if (!Array.isArray(given)) throw invalid(`subscores has to be a list, got ${preview(given)}`);
  return given.map((entry: unknown, index) => {
    if (!isJsonObject(entry) || typeof entry.name !== 'string') {
      throw invalid(`subscores.${index} has to be {name, value, weight?}, got ${preview(entry)}`);
    }
    const { name, value, weight } = entry;
    if (!isFiniteNumber(value))
      throw invalid(`the value of subscore "${name}" has to be a finite number, got ${show(value)}`);
    if (weight === undefined) return { name, value };
    if (!isFiniteNumber(weight) || weight < 0) {
      throw invalid(`the weight of subscore "${name}" has to be a finite number of 0 or more, got ${show(weight)}`);
    }
    return { name, value, weight };
  });
}

function weightedMean(subscores: readonly Subscore[]): number {
  const total = subscores.reduce((sum, { weight = 1 }) => sum + weight, 0);
  if (total === 0) throw invalid('the weights of the subscores are all 0, so that they have no mean: give a reward');
  return subscores.reduce((sum, { value, weight = 1 }) => sum + value * weight, 0) / total;
}

function toInfo(info: unknown): JsonObject {
  let copy: unknown;
  try {
    copy = JSON.parse(JSON.stringify(info) ?? 'null');
  } catch (cause) {
    throw new EvaluationInvalidError('The evaluation is invalid: info holds what JSON cannot', { cause });
  }
  if (!isJsonObject(copy)) throw invalid(`info has to be an object, got ${preview(info)}`);
  return copy;
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** JSON makes null of NaN and of infinities, which are the very values to show. */
function show(value: unknown): string {
  return typeof value === 'number' ? String(value) : preview(value);
}

function invalid(reason: string): EvaluationInvalidError {
  return new EvaluationInvalidError(`The evaluation is invalid: ${reason}`);
}
