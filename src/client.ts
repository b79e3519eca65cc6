export { connectEnvironment } from './client/connect.ts';
export type {
  AgentToolEntry,
  CallOptions,
  ConnectOptions,
  EnvironmentClient,
  EnvironmentTarget,
  ToolResult,
} from './client/environment-client.ts';
export { BoundaryError } from './contract/errors.ts';
