import type { Outcome } from '../../../contract/service/outcome.ts';
import type { GradesQuery } from '../../../contract/service/replay.ts';
import type { RunStatus } from '../../../contract/service/run.ts';
import type { TotalsGroupBy } from '../../../contract/service/totals.ts';
import type { Origin } from '../../../contract/service/trace.ts';

/** Selects the traces of a list or a sum. A missing filter matches all traces. */
export interface TraceFilters {
  /** Undefined means every account; only local tools may use that. */
  readonly account?: string;
  readonly envName?: string;
  readonly scenarioName?: string;
  readonly model?: string;
  readonly status?: RunStatus;
  readonly origin?: Origin;
  readonly evaluationId?: string;
  readonly taskId?: string;
  /** Counted from 1. */
  readonly attemptIndex?: number;
  readonly outcome?: Outcome;
  /** The trace that the selected traces repeat, in whole or in part. */
  readonly parent?: string;
  /**
   * The rewards for filters, sorts and sums: those of the runs (the default), or the newest grades where a trace has
   * one.
   */
  readonly grades?: GradesQuery;
  readonly minReward?: number;
  readonly maxReward?: number;
  /** Milliseconds since 1970, both inclusive. */
  readonly since?: number;
  readonly until?: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface SummaryOptions {
  /** Also splits the totals by group. */
  readonly groupBy?: TotalsGroupBy | undefined;
}
