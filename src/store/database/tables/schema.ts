import type { Generated } from 'kysely';
import type { CheckTables } from './create-checks.ts';
import type { ModelCheckpointsTable, RegisteredModelsTable } from './create-models.ts';
import type { GradesTable, RegradeRowsTable, RegradesTable } from './create-replays.ts';
import type { SeatsTable } from './create-seats.ts';
import type { ImitationModelsTable, TrainingEventsTable, TrainingJobsTable } from './create-training-jobs.ts';
import type {
  EvaluationReservationsTable,
  GatewayLimitChangesTable,
  GatewayLimitsTable,
  GatewayUsersTable,
} from './gateway-tables.ts';

/** Rows of the database. Times are integer milliseconds since 1970; JSON is text. */
export interface DatabaseSchema extends CheckTables {
  traces: TracesTable;
  trace_metadata: TraceMetadataTable;
  events: EventsTable;
  blobs: BlobsTable;
  queue: QueueTable;
  run_claims: RunClaimsTable;
  api_keys: ApiKeysTable;
  sign_in_tokens: SignInTokensTable;
  browser_sessions: BrowserSessionsTable;
  chat_sessions: ChatSessionsTable;
  idempotency_keys: IdempotencyKeysTable;
  outcomes: OutcomesTable;
  trace_blobs: TraceBlobsTable;
  evaluations: EvaluationsTable;
  evaluation_tasks: EvaluationTasksTable;
  evaluation_attempts: EvaluationAttemptsTable;
  evaluation_reservations: EvaluationReservationsTable;
  gateway_limits: GatewayLimitsTable;
  gateway_users: GatewayUsersTable;
  gateway_limit_changes: GatewayLimitChangesTable;
  seats: SeatsTable;
  registered_models: RegisteredModelsTable;
  model_checkpoints: ModelCheckpointsTable;
  training_jobs: TrainingJobsTable;
  training_events: TrainingEventsTable;
  imitation_models: ImitationModelsTable;
  grades: GradesTable;
  regrades: RegradesTable;
  regrade_rows: RegradeRowsTable;
}

export interface TracesTable {
  trace_id: string;
  account: string;
  origin: string;
  status: string;
  attempt: number;
  cancel_requested: number;
  env_name: string;
  scenario_name: string;
  model: string;
  reward: number | null;
  created_at: number;
  finished_at: number | null;
  /** Milliseconds from the start of the last attempt to its end (contract/running-time.ts). */
  duration_ms: number | null;
  total_tokens: number | null;
  /** JSON object of strings. */
  metadata: string;
  /** JSON of the first `run.queued` event. */
  request: string;
  /** JSON of the finished trace without steps and logs; null until the trace ends. */
  summary: string | null;
  /** The API key of the request; null for a run without a key. */
  key_id: string | null;
  /** The evaluation that the run belongs to; null outside of evaluations. */
  evaluation_id: Generated<string | null>;
  task_id: Generated<string | null>;
  attempt_index: Generated<number | null>;
  /** 1 when the attempt was run again and a later trace replaces this one. */
  is_superseded: Generated<number>;
  /** Null until the trace ends. */
  outcome: Generated<string | null>;
  /** The trace that this one repeats, in whole or in part. */
  parent_trace_id: Generated<string | null>;
  /** The reward of the newest grade that has one. */
  grade_reward: Generated<number | null>;
}

/** The metadata of traces by key, so that a list can use an index for a metadata filter. */
export interface TraceMetadataTable {
  trace_id: string;
  key: string;
  value: string;
  /** Account and time of the trace, because filtered lists are limited and sorted by them. */
  account: string;
  created_at: number;
}

/** `(trace_id, seq)` is unique. `seq` counts from 1 without gaps, so the last value is also the number of events. */
export interface EventsTable {
  trace_id: string;
  seq: number;
  attempt: number;
  at: number;
  type: string;
  body: string;
}

export interface BlobsTable {
  sha256: string;
  mime_type: string;
  bytes: Uint8Array;
}

export interface QueueTable {
  trace_id: string;
  /** Environment of the run. An index lets a worker skip entries that it may not take (store/queue/entry-groups.ts). */
  env_name: Generated<string>;
  /** Key of the run; empty without a key. */
  key_id: Generated<string>;
  priority: number;
  enqueued_at: number;
  leased_by: string | null;
  lease_token: string | null;
  lease_until: number | null;
  /** 1 when the present lease replaced an expired one. */
  is_redelivered: number;
}

/** Runs that count against the limit of their key (service/runs/worker/key-claims.ts). */
export interface RunClaimsTable {
  trace_id: string;
  key_id: string;
}

export interface ApiKeysTable {
  id: string;
  name: string;
  account: string;
  /** SHA-256 of the key, in hex. Keys have 256 random bits, so a plain hash is enough. */
  key_hash: string;
  requests_per_minute: number | null;
  concurrent_runs: number | null;
  created_at: number;
  revoked_at: number | null;
}

export interface SignInTokensTable {
  token_hash: string;
  account: string;
  expires_at: number;
}

export interface BrowserSessionsTable {
  session_hash: string;
  account: string;
  expires_at: number;
}

/** Sessions of scenario servers. An active session lives in its server; the row gets its result when it ends. */
export interface ChatSessionsTable {
  session_id: string;
  trace_id: string;
  account: string;
  /** The server that holds the session, as JSON of its owner. */
  server: string;
  /** `active` until its end. */
  status: string;
  scenario: string;
  /** JSON object. */
  scenario_args: string;
  model: string;
  created_at: number;
  last_active_at: number;
  /** Time of the server's last sign of life. */
  seen_at: number;
  turns: number;
  steps: number;
  /** JSON of the finish result; null when nothing was evaluated. */
  result: string | null;
  /** The reason of a failure. */
  message: string | null;
}

/** Stored answers for repeated requests with the same `Idempotency-Key`. */
export interface IdempotencyKeysTable {
  scope: string;
  /** A hash of the key and of the account that sent it. */
  key: string;
  request_hash: string;
  response: string;
  expires_at: number;
}

/**
 * Result and usage of each finished trace, in small rows for sums. Rows of deleted traces stay, for the account's
 * usage.
 */
export interface OutcomesTable {
  trace_id: string;
  account: string;
  key_id: string | null;
  env_name: string;
  scenario_name: string;
  model: string;
  origin: string;
  status: string;
  created_at: number;
  reward: number | null;
  /** A bin of store/traces/rows/reward-bins.ts; -1 without a reward. */
  reward_bin: number;
  /** Tokens of the last attempt, as in the trace. */
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  /** Usage of all attempts together. */
  used_model_calls: number;
  used_prompt_tokens: number;
  used_completion_tokens: number;
  used_total_tokens: number;
  /** Milliseconds that all attempts ran, each from its start to its end. */
  used_ms: number;
  is_deleted: number;
  /** Copied from the trace. */
  is_superseded: number;
  /** Copied from the trace, with the bin of the reward. */
  grade_reward: number | null;
  grade_bin: number | null;
}

/** References of traces to blobs. */
export interface TraceBlobsTable {
  trace_id: string;
  sha256: string;
}

export interface EvaluationsTable {
  evaluation_id: string;
  account: string;
  key_id: string | null;
  name: string | null;
  /** SHA-256 of the settings that identify an evaluation, in hex. The same command finds its evaluation by it. */
  identity: string;
  parent: string | null;
  /** `running`, `paused`, `completed` or `cancelled`. `deleted` while its rows are being removed. */
  status: string;
  /** JSON of the settings that never change. */
  settings: string;
  taskset_name: string | null;
  taskset_version: string;
  /** Number of tasks. */
  tasks: number;
  /** Number of attempts of each task with each model. */
  attempts: number;
  concurrency: number;
  budget_usd: number | null;
  budget_tokens: number | null;
  /** Cost of finished model calls (evaluation/evaluations/limits/budget.ts). */
  spent_usd: Generated<number>;
  spent_tokens: Generated<number>;
  /**
   * Index of the next attempt to start. Attempts start in one order: by attempt, then task, then model. Attempts from
   * this index on have no row yet.
   */
  next_attempt: Generated<number>;
  created_at: number;
  finished_at: number | null;
  /** JSON of the reports of a finished evaluation; null after a change, until they are computed again. */
  report: string | null;
}

export interface EvaluationTasksTable {
  evaluation_id: string;
  /** Counted from 0, in order of id. */
  task_index: number;
  task_id: string;
  cluster: string;
  /** SHA-256 of environment, scenario and arguments, in hex. Comparisons pair tasks with equal values. */
  content: string;
  task: string;
}

export interface EvaluationAttemptsTable {
  evaluation_id: string;
  /** Counted from 1. */
  attempt_index: number;
  task_index: number;
  model_index: number;
  /**
   * `running`: the trace is queued or runs. `waiting`: the attempt is run again at `due_at`. `done`: it has an outcome.
   */
  state: string;
  /** The latest trace of the attempt. */
  trace_id: string | null;
  /** Number of times that the attempt was run again. */
  rerun: Generated<number>;
  /** The attempt is not run again automatically once `rerun` reaches this. */
  rerun_limit: Generated<number>;
  due_at: number | null;
  outcome: string | null;
  reward: number | null;
  steps: Generated<number>;
  usage: string | null;
  prompt_tokens: Generated<number>;
  completion_tokens: Generated<number>;
  total_tokens: Generated<number>;
  cost_usd: number | null;
  /** US dollars for the simulated user and for judges; null when unknown. */
  user_usd: Generated<number | null>;
  judge_usd: Generated<number | null>;
  started_at: number | null;
  finished_at: number | null;
  duration_ms: number | null;
  error: string | null;
  environment_hash: string | null;
  /** US dollars of all superseded traces of the attempt; null when unknown. */
  earlier_usd: number | null;
  earlier_tokens: Generated<number>;
  /** Reward and outcome of the newest grade of the trace; null without a grade. */
  grade_reward: number | null;
  grade_outcome: string | null;
}
