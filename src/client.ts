export { createServiceClient } from './client/local-service-client.ts';
export type {
  AttemptListQuery,
  CheckListQuery,
  CheckQuery,
  ChecksClient,
  CompareQuery,
  CreateEvaluationOptions,
  CreateRunOptions,
  DatasetsClient,
  EvaluationListQuery,
  EvaluationsClient,
  EventsOptions,
  Fetch,
  GradesOption,
  JudgesClient,
  ModelsClient,
  RegisteredModelsClient,
  RegradeQuery,
  RegradesClient,
  ReplayOptions,
  RequestOptions,
  SeatsClient,
  ServiceClient,
  ServiceClientOptions,
  TaskListQuery,
  TasksetsClient,
  TraceFilters,
  TraceListQuery,
  TrainingClient,
  TrainingListQuery,
} from './client/service-client.ts';
export { ApiError, BoundaryError, type ErrorCode } from './contract/errors.ts';
export type { JsonObject } from './contract/json.ts';
export type {
  RegisteredModel,
  RegisteredModelInput,
  RegisteredModelList,
  RegisteredModelPatch,
} from './contract/model.ts';
export type { ScenarioEntry } from './contract/scenario.ts';
export type {
  CheckEvent,
  CheckFinding,
  CheckList,
  CheckReport,
  CheckRequest,
  CheckSummary,
  FindingLevel,
  FindingName,
  StoredCheck,
} from './contract/service/check.ts';
export type {
  AttemptList,
  ComparisonList,
  EvaluationAccepted,
  EvaluationAttempt,
  EvaluationDetail,
  EvaluationInput,
  EvaluationList,
  EvaluationPatch,
  EvaluationStatus,
  EvaluationSummary,
  Report,
  TaskList,
  TaskRow,
} from './contract/service/evaluation.ts';
export type { ModelDeltaEvent, TraceEvent } from './contract/service/event.ts';
export type { Calibration, CalibrationEvent, CalibrationInput } from './contract/service/judge.ts';
export type { Outcome } from './contract/service/outcome.ts';
export type {
  Regrade,
  RegradeAccepted,
  RegradeList,
  RegradeOutcome,
  RegradeRequest,
  RegradeRow,
} from './contract/service/regrade.ts';
export type { Difference, Fork, Grade, GradesQuery, Parent, ReplayResult } from './contract/service/replay.ts';
export type {
  EnvironmentList,
  EnvironmentToolList,
  ModelList,
  RunAccepted,
  RunInput,
  RunStatus,
} from './contract/service/run.ts';
export type { Seat, SeatInput } from './contract/service/seat.ts';
export type { TotalsGroupBy, TraceTotals, UsageGroupBy, UsageList } from './contract/service/totals.ts';
export type { LogRecord, Origin, Trace, TraceList, TraceSummary } from './contract/service/trace.ts';
export type {
  TrainerList,
  TrainingAccepted,
  TrainingEvent,
  TrainingInput,
  TrainingJob,
  TrainingJobDetail,
  TrainingJobList,
} from './contract/service/training.ts';
export type { TrainingStatus } from './contract/service/training-states.ts';
export type { TasksetList } from './contract/task.ts';
export { connectEnvironment } from './environment/client/connect-environment.ts';
export type {
  AgentToolEntry,
  CallOptions,
  ConnectOptions,
  EnvironmentClient,
  EnvironmentTarget,
  ToolResult,
} from './environment/client/environment-client.ts';
