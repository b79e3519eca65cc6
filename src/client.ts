export { connectEnvironment } from './client/connect.ts';
export type {
  AgentToolEntry,
  CallOptions,
  ConnectOptions,
  EnvironmentClient,
  EnvironmentTarget,
  ToolResult,
} from './client/environment-client.ts';
export type { CheckFinding, CheckSummary, StoredCheck } from './contract/check.ts';
export { BoundaryError } from './contract/errors.ts';
export type {
  ComparisonList,
  EvaluationAttempt,
  EvaluationDetail,
  EvaluationInput,
  EvaluationSummary,
  Report,
} from './contract/evaluation.ts';
export type { ModelDeltaEvent, TraceEvent } from './contract/event.ts';
export type { RegisteredModel, RegisteredModelInput, RegisteredModelPatch } from './contract/model.ts';
export type { Outcome } from './contract/outcome.ts';
export type { Regrade, RegradeRow } from './contract/regrade.ts';
export type { Difference, Fork, Grade, GradesQuery, Parent, ReplayResult } from './contract/replay.ts';
export type { RunAccepted, RunInput } from './contract/run.ts';
export type { Seat, SeatInput } from './contract/seat.ts';
export type { TraceTotals, UsageList } from './contract/totals.ts';
export type { Trace, TraceList, TraceSummary } from './contract/trace.ts';
export { createServiceClient } from './service-client/local-service-client.ts';
export {
  ApiError,
  type ChecksClient,
  type CreateRunOptions,
  type EvaluationsClient,
  type RegradesClient,
  type ServiceClient,
  type ServiceClientOptions,
  type TraceFilters,
  type TraceListQuery,
} from './service-client/service-client.ts';
