// Serving scenarios to any OpenAI-style chat client.
export type { Logger } from 'pino';
export type { FinishedSession, SessionEntry, SessionStatus, Svc } from './contract/session.ts';
export type { GatewayClient } from './models/gateway/gateway-client.ts';
export {
  type ScenarioEnvironment,
  type ServeScenariosOptions,
  serveScenarios,
} from './service/chat/serve-scenarios.ts';
export type { ScenarioServer } from './service/chat/start.ts';
