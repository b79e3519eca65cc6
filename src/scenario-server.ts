// Serving scenarios to any OpenAI-style chat client.
export type { FinishedSession, SessionEntry, SessionStatus, Svc } from './contract/session.ts';
export type { GatewayClient } from './model/gateway-client.ts';
export {
  type ScenarioEnvironment,
  type ServeScenariosOptions,
  serveScenarios,
} from './scenario-server/serve-scenarios.ts';
export type { ScenarioServer } from './scenario-server/start.ts';
