import type { Outcome } from '../contract/outcome.ts';
import type { GradesQuery } from '../contract/replay.ts';
import type { RunStatus } from '../contract/run.ts';
import type { TotalsGroupBy } from '../contract/totals.ts';
import type { Origin } from '../contract/trace.ts';

/** Which traces a list or a sum is of; what is not given lets all through. */
export interface TraceFilters {
  /** Undefined: every account's (for local tools alone). */
  readonly account?: string;
  readonly envName?: string;
  readonly scenarioName?: string;
  readonly model?: string;
  readonly status?: RunStatus;
  readonly origin?: Origin;
  readonly evaluationId?: string;
  readonly taskId?: string;
  /** From 1. */
  readonly attemptIndex?: number;
  readonly outcome?: Outcome;
  /** The trace that they repeat, wholly or in part. */
  readonly parent?: string;
  /** Rewards that filters, sorts and sums are about: those of the runs (the default), or the newest grades where there are some. */
  readonly grades?: GradesQuery;
  readonly minReward?: number;
  readonly maxReward?: number;
  /** Milliseconds since 1970, both inclusive. */
  readonly since?: number;
  readonly until?: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface SummaryOptions {
  /** Splits the totals, too. */
  readonly groupBy?: TotalsGroupBy | undefined;
}
