// Running scenarios over HTTP: the run service and the parts it stands on.
export type { Accounts, ApiKeyEntry, NewApiKey } from './accounts/accounts.ts';
export { createAccounts } from './accounts/database-accounts.ts';
export type { EnvironmentTarget } from './client/environment-client.ts';
export { loadProject, type Project } from './config/project.ts';
export type { Settings } from './config/settings.ts';
export type { CreatedApiKey, RunAccepted, RunRequest, RunStatus } from './contract/run.ts';
export type { Trace, TraceSummary } from './contract/trace.ts';
export type { Database } from './database/database.ts';
export { openDatabase } from './database/sqlite.ts';
export { parseAllowedHosts } from './http/origin-guard.ts';
export type { Route, RouteReply, RouteRequest } from './http/route.ts';
export { createModels, type ModelConfig, type Models } from './model/create-model.ts';
export { createDatabaseQueue } from './queue/database-queue.ts';
export type { RunQueue } from './queue/run-queue.ts';
export { type RunService, type RunServiceOptions, startRunService } from './run-service/start.ts';
export { createTraceStore } from './trace/database-store.ts';
export type { TraceStore } from './trace/trace-store.ts';
export { createPages } from './web/pages.ts';
