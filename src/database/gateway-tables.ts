import type { Generated } from 'kysely';
import type { LimitChange } from '../contract/evaluation.ts';

/** What a model call that goes on may cost at most. */
export interface EvaluationReservationsTable {
  reservation_id: string;
  trace_id: string;
  evaluation_id: string;
  usd: number;
  tokens: number;
  /** Grows while its worker lives. */
  beat: Generated<number>;
}

/** How many calls of a model its gateway may have at once: all workers share it. The model `""` is the gateway itself. */
export interface GatewayLimitsTable {
  gateway: string;
  model: string;
  call_limit: number;
  /** JSON. */
  state: string;
  /** Grows with each change, so that of two writers one comes first. */
  version: number;
}

/** Workers that call a model through a gateway, and how many calls each would make at once. */
export interface GatewayUsersTable {
  gateway: string;
  model: string;
  worker: string;
  wanted: number;
  /** The most that its evaluations allow. */
  ceiling: number;
  seen_at: number;
}

/** What became of `gateway_limits` over time. */
export interface GatewayLimitChangesTable {
  gateway: string;
  model: string;
  /** Of the limit. */
  version: number;
  at: number;
  call_limit: number;
  reason: LimitChange['reason'];
}
