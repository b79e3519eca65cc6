/** Facts about a trace that are known before its events are read. */
export interface TraceFacts {
  readonly traceId: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly envName: string;
  /** Short name of the scenario. */
  readonly scenarioName: string;
  readonly evaluationId: string | null;
  readonly taskId: string | null;
  /** SHA-256 of environment, scenario and canonical arguments. Equal tasks have equal keys. */
  readonly taskKey: string;
  readonly reward: number;
}

/** A trace that may get a line. */
export interface Candidate extends TraceFacts {
  /** The name in the request. */
  readonly model: string;
  readonly modelCalls: number;
  readonly tokens: number;
  readonly hasTools: boolean;
}

/** One line: a trace, or for `openai-dpo` a success and a failure of the same task. */
export interface ChosenLine {
  readonly trace: Candidate;
  readonly rejected?: Candidate;
}

/** Sorts lines by the creation time of their traces. */
export function byTime(one: ChosenLine, other: ChosenLine): number {
  return compareTraces(one.trace, other.trace) || compareTraces(one.rejected, other.rejected);
}

export function compareTraces(one: TraceFacts | undefined, other: TraceFacts | undefined): number {
  if (one === undefined || other === undefined || one.traceId === other.traceId) return 0;
  return one.createdAt - other.createdAt || (one.traceId < other.traceId ? -1 : 1);
}
