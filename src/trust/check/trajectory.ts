import { isJsonObject, type Json, type JsonObject } from '../../contract/json.ts';
import { CallsModel } from '../../model/calls-model.ts';
import { resultsOf } from './observed.ts';
import type { Played } from './play.ts';

export interface TrajectoryCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** The moves of an agent. */
export interface Trajectory {
  readonly calls: readonly TrajectoryCall[];
  /** As text: a structured answer is its JSON. */
  readonly answer: string;
}

export function trajectoryOf(played: Played): Trajectory {
  const { answer } = played.trace;
  const calls = resultsOf(played).map(({ name, arguments: args }) => ({ name, arguments: args }));
  return { calls, answer: typeof answer === 'string' ? answer : answer === null ? '' : JSON.stringify(answer) };
}

/** How to play it with `Bench.play`. */
export function playing({ calls, answer }: Trajectory) {
  return {
    model: 'proctor/oracle',
    createModel: () => new CallsModel('proctor/oracle', calls, answer),
    maxSteps: Math.min(500, calls.length + 1),
  };
}

/** The texts and numbers in a value. */
export function leavesOf(value: Json): readonly (string | number | boolean)[] {
  if (Array.isArray(value)) return value.flatMap(leavesOf);
  if (isJsonObject(value)) return Object.values(value).flatMap(leavesOf);
  return value === null ? [] : [value];
}
