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

/** Rows as the database holds them. Times are integer milliseconds since 1970; JSON is text. */
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
  /** From the start of the last attempt to its end (contract/running-time.ts). */
  duration_ms: number | null;
  total_tokens: number | null;
  /** JSON object of strings. */
  metadata: string;
  /** The body of the first `run.queued`. */
  request: string;
  /** The finished trace without steps and logs; null until then. */
  summary: string | null;
  /** The API key that the run was made with; null for one that was made without. */
  key_id: string | null;
  /** The attempt of an evaluation that it is; null elsewhere. */
  evaluation_id: Generated<string | null>;
  task_id: Generated<string | null>;
  attempt_index: Generated<number | null>;
  /** 1: the attempt was run again, and this is not its latest trace. */
  is_superseded: Generated<number>;
  /** Null until it has ended. */
  outcome: Generated<string | null>;
  /** The trace that it repeats, wholly or in part. */
  parent_trace_id: Generated<string | null>;
  /** The reward of its newest grade that has one. */
  grade_reward: Generated<number | null>;
}

/** The metadata of each trace once more, by key, so that a list can be filtered by one of them through an index. */
export interface TraceMetadataTable {
  trace_id: string;
  key: string;
  value: string;
  /** Those of the trace: what a filtered list is scoped and sorted by. */
  account: string;
  created_at: number;
}

/** `(trace_id, seq)` is unique; `seq` counts from 1 without gap, so that the last one is also their number. */
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
  /** Environment of the run: an index lets a worker skip entries that it may not take (queue/entry-groups.ts). */
  env_name: Generated<string>;
  /** Key of the run; empty without one. */
  key_id: Generated<string>;
  priority: number;
  enqueued_at: number;
  leased_by: string | null;
  lease_token: string | null;
  lease_until: number | null;
  /** 1 when the present lease took over one that had run out. */
  is_redelivered: number;
}

/** Runs that hold one of the places of their key, where that has a limit (run-service/key-claims.ts). */
export interface RunClaimsTable {
  trace_id: string;
  key_id: string;
}

export interface ApiKeysTable {
  id: string;
  name: string;
  account: string;
  /** SHA-256 of the key, hex. Keys are 256 random bits, so that a plain hash is enough. */
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

/** Sessions of scenario servers. What an active one does lives in its server, and is written here when it ends. */
export interface ChatSessionsTable {
  session_id: string;
  trace_id: string;
  account: string;
  /** The server that holds it, as `servers` names them. */
  server: string;
  /** `active` until its end. */
  status: string;
  scenario: string;
  /** JSON object. */
  scenario_args: string;
  model: string;
  created_at: number;
  last_active_at: number;
  /** When its server last said that it is there. */
  seen_at: number;
  turns: number;
  steps: number;
  /** JSON of what finishing gave; null where nothing was evaluated. */
  result: string | null;
  /** Why it failed. */
  message: string | null;
}

/** Answers that are given again to whoever sends the same request with the same `Idempotency-Key`. */
export interface IdempotencyKeysTable {
  /** The route of the request. */
  scope: string;
  /** A hash of the key and of the account that sent it. */
  key: string;
  /** SHA-256 of the request, hex. */
  request_hash: string;
  /** JSON. */
  response: string;
  expires_at: number;
}

/** The result and usage of each trace that has ended, in small rows, for sums over many. Those of a deleted trace stay, for its account's usage. */
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
  /** As trace/reward-bins.ts has them; -1: there is none. */
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
  /** From the start of each attempt to its end, in milliseconds. */
  used_ms: number;
  is_deleted: number;
  /** As that of the trace. */
  is_superseded: number;
  /** As that of the trace, with its bin. */
  grade_reward: number | null;
  grade_bin: number | null;
}

/** Which trace refers to which blob. */
export interface TraceBlobsTable {
  trace_id: string;
  sha256: string;
}

export interface EvaluationsTable {
  evaluation_id: string;
  account: string;
  key_id: string | null;
  name: string | null;
  /** SHA-256 of what makes two evaluations the same one, hex: the same command finds it again by this. */
  identity: string;
  parent: string | null;
  /** `running`, `paused`, `completed` or `cancelled`; `deleted` until nothing of it is left. */
  status: string;
  /** JSON of the settings that do not change. */
  settings: string;
  taskset_name: string | null;
  taskset_version: string;
  /** Number of tasks. */
  tasks: number;
  /** Attempts of each task with each model. */
  attempts: number;
  concurrency: number;
  budget_usd: number | null;
  budget_tokens: number | null;
  /** Model calls that have ended (evaluations/budget.ts). */
  spent_usd: Generated<number>;
  spent_tokens: Generated<number>;
  /**
   * Attempts that have begun, or will not. They begin in one order: by attempt, then task, then model. Those from here on
   * have no row yet.
   */
  next_attempt: Generated<number>;
  created_at: number;
  finished_at: number | null;
  /** JSON of the reports of an evaluation that has ended, until something changes them. */
  report: string | null;
}

export interface EvaluationTasksTable {
  evaluation_id: string;
  /** From 0, in order of id. */
  task_index: number;
  task_id: string;
  cluster: string;
  /** SHA-256 of environment, scenario and arguments, hex: tasks of two evaluations are compared where it is equal. */
  content: string;
  /** JSON of the whole task. */
  task: string;
}

export interface EvaluationAttemptsTable {
  evaluation_id: string;
  /** From 1. */
  attempt_index: number;
  task_index: number;
  model_index: number;
  /** `running`: its trace is queued or runs. `waiting`: it is run again at `due_at`. `done`: it has its outcome. */
  state: string;
  /** The latest one. */
  trace_id: string | null;
  /** How many times it was run again. */
  rerun: Generated<number>;
  /** It is not run again by itself once `rerun` is this. */
  rerun_limit: Generated<number>;
  due_at: number | null;
  outcome: string | null;
  reward: number | null;
  steps: Generated<number>;
  /** JSON. */
  usage: string | null;
  prompt_tokens: Generated<number>;
  completion_tokens: Generated<number>;
  total_tokens: Generated<number>;
  cost_usd: number | null;
  /** Costs of the simulated user and of judges, US dollars; null: not known. */
  user_usd: Generated<number | null>;
  judge_usd: Generated<number | null>;
  started_at: number | null;
  finished_at: number | null;
  duration_ms: number | null;
  /** JSON. */
  error: string | null;
  environment_hash: string | null;
  /** Cost of the traces that were superseded, together; null: not known. */
  earlier_usd: number | null;
  earlier_tokens: Generated<number>;
  /** Reward and outcome by the newest grade of its trace; null without one. */
  grade_reward: number | null;
  grade_outcome: string | null;
}
