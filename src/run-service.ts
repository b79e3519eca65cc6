// Running scenarios over HTTP: the run service and the parts it stands on.

export type { CreatedApiKey, RunAccepted, RunRequest, RunStatus } from './contract/service/run.ts';
export type { Trace, TraceSummary } from './contract/service/trace.ts';
export type { EnvironmentTarget } from './environment/client/environment-client.ts';
export { createModels, type Models } from './models/gateway/create-model.ts';
export type { ModelConfig } from './models/gateway/model-config.ts';
export { loadProject, type Project } from './service/config/project.ts';
export type { Settings } from './service/config/settings.ts';
export { type ServedRuns, type ServeRunsOptions, serveRuns } from './service/runs/serve-runs.ts';
export { type RunService, type RunServiceOptions, startRunService } from './service/runs/start.ts';
export { startWorker, type Worker, type WorkerOptions, type WorkerSettings } from './service/runs/worker/worker.ts';
export type { Accounts, ApiKeyEntry, NewApiKey } from './store/accounts/accounts.ts';
export { createAccounts } from './store/accounts/database-accounts.ts';
export type { Database } from './store/database/database.ts';
export { openDatabase } from './store/database/open-database.ts';
export { createDatabaseQueue } from './store/queue/database-queue.ts';
export { openQueue } from './store/queue/open-queue.ts';
export type { RunQueue } from './store/queue/run-queue.ts';
export { createTraceStore } from './store/traces/database-store.ts';
export type { TraceStore } from './store/traces/trace-store.ts';
export type { Route, RouteReply, RouteRequest } from './support/http/api/route.ts';
export { parseAllowedHosts } from './support/http/origin-guard.ts';
export { createPages } from './web/pages.ts';
