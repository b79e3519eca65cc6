import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import type { Evaluation, Subscore } from '../../contract/scenario.ts';
import { preview } from '../../support/schema/json-schema.ts';

/**
 * The evaluation that a scenario may return. `reward` and subscores are finite numbers; true counts as 1 and false as
 * 0.
 */
export type EvaluationInput = number | boolean | EvaluationObject;

type EvaluationObject = {
  /** Text about the evaluation, for people. */
  readonly content?: string | null | undefined;
  /** Any value that JSON can hold. */
  readonly info?: Readonly<Record<string, unknown>> | undefined;
  /** Ignored: an evaluation always ends its scenario, so the result always says true. */
  readonly done?: boolean | undefined;
} & (
  | { readonly reward: number; readonly subscores?: readonly SubscoreInput[] | undefined }
  /** Without a reward, the reward is the weighted mean of the subscores. */
  | { readonly reward?: undefined; readonly subscores: readonly SubscoreInput[] }
);

export interface SubscoreInput {
  readonly name: string;
  readonly value: number;
  /** Weight in the mean, 0 or more. Default 1. */
  readonly weight?: number | undefined;
}

/** The scenario ended without an evaluation. There is no reward then. */
class EvaluationMissingError extends Error {
  override readonly name = 'EvaluationMissingError';
}

/** The author returned something that is not a valid evaluation, such as an infinite reward or a text. */
class EvaluationInvalidError extends Error {
  override readonly name = 'EvaluationInvalidError';
}

/**
 * Turns a return value into the evaluation that is sent.
 *
 * @throws EvaluationMissingError without a value, EvaluationInvalidError for a value that is not an evaluation.
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
    throw new EvaluationInvalidError('The evaluation is invalid: info has a value that JSON cannot hold', { cause });
  }
  if (!isJsonObject(copy)) throw invalid(`info has to be an object, got ${preview(info)}`);
  return copy;
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** Names NaN and infinities in messages, because JSON would turn them into null. */
function show(value: unknown): string {
  return typeof value === 'number' ? String(value) : preview(value);
}

function invalid(reason: string): EvaluationInvalidError {
  return new EvaluationInvalidError(`The evaluation is invalid: ${reason}`);
}
