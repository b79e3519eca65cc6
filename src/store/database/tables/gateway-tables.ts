import type { Generated } from 'kysely';
import type { LimitChange } from '../../../contract/service/evaluation.ts';

/** A reservation of the largest cost of a running model call. */
export interface EvaluationReservationsTable {
  reservation_id: string;
  trace_id: string;
  evaluation_id: string;
  usd: number;
  tokens: number;
  /** Counts up while the worker lives. */
  beat: Generated<number>;
}

/**
 * The number of concurrent calls of a model that its gateway allows, shared by all workers. The model `""` is the
 * gateway itself.
 */
export interface GatewayLimitsTable {
  gateway: string;
  model: string;
  call_limit: number;
  /** JSON of the limiter's state. */
  state: string;
  /** Counts up with each change. It detects concurrent writers. */
  version: number;
}

/** Workers that call a model through a gateway, and the number of concurrent calls that each wants. */
export interface GatewayUsersTable {
  gateway: string;
  model: string;
  worker: string;
  wanted: number;
  /** The largest number of calls that the worker's evaluations allow. */
  ceiling: number;
  seen_at: number;
}

/** The history of `gateway_limits`. */
export interface GatewayLimitChangesTable {
  gateway: string;
  model: string;
  /** The version of the limit. */
  version: number;
  at: number;
  call_limit: number;
  reason: LimitChange['reason'];
}
