/** Facts about a trace that are known before its events are read. */
export interface TraceFacts {
  readonly traceId: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly envName: string;
  /** Its short name. */
  readonly scenarioName: string;
  readonly evaluationId: string | null;
  readonly taskId: string | null;
  /** SHA-256 of environment, scenario and canonical arguments: tasks are equal by it. */
  readonly taskKey: string;
  readonly reward: number;
}

/** A trace that may get a line. */
export interface Candidate extends TraceFacts {
  /** As it was asked for. */
  readonly model: string;
  readonly modelCalls: number;
  readonly tokens: number;
  readonly hasTools: boolean;
}

/** One line: a trace, or for `openai-dpo` a success and a failure of one task. */
export interface ChosenLine {
  readonly trace: Candidate;
  readonly rejected?: Candidate;
}

/** The order of lines: that in which their traces were made. */
export function byTime(one: ChosenLine, other: ChosenLine): number {
  return compareTraces(one.trace, other.trace) || compareTraces(one.rejected, other.rejected);
}

export function compareTraces(one: TraceFacts | undefined, other: TraceFacts | undefined): number {
  if (one === undefined || other === undefined || one.traceId === other.traceId) return 0;
  return one.createdAt - other.createdAt || (one.traceId < other.traceId ? -1 : 1);
}
