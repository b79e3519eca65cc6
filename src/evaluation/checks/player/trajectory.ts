import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { CallsModel } from '../../../models/gateway/reference/calls-model.ts';
import { resultsOf } from './observed.ts';
import type { PlayedSession } from './play.ts';

export interface TrajectoryCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** The calls and the answer of an agent. */
export interface Trajectory {
  readonly calls: readonly TrajectoryCall[];
  /** Answer as text; JSON for a structured answer. */
  readonly answer: string;
}

export function trajectoryOf(played: PlayedSession): Trajectory {
  const { answer } = played.trace;
  const calls = resultsOf(played).map(({ name, arguments: args }) => ({ name, arguments: args }));
  return { calls, answer: typeof answer === 'string' ? answer : answer === null ? '' : JSON.stringify(answer) };
}

/** Options of `SessionPlayer.play` that repeat a trajectory. */
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
