import type { JsonObject } from '../contract/json.ts';
import { SEAT_MCP_PATH, type SeatConfigs } from '../contract/seat.ts';

/** Name of the MCP server in every configuration: agents put it before the names of the tools. */
const SERVER = 'env';
/** Milliseconds that an agent waits for a tool: longer than any tool may take here. */
const TOOL_TIMEOUT_MS = 600_000;
const START_TIMEOUT_MS = 300_000;

/** The address of a seat. @param base of the service, without a slash at the end. */
export function seatAddress(base: string, secret: string) {
  return { url: `${base}${SEAT_MCP_PATH}`, headers: { Authorization: `Bearer ${secret}` } };
}

/**
 * The configuration of each known agent, by which it reaches the seat without anything else of the machine's configuration. Codex gets the secret in the path: its versions differ in how they take headers.
 */
export function createSeatConfigs(base: string, secret: string): SeatConfigs {
  const { url, headers } = seatAddress(base, secret);
  const http: JsonObject = { type: 'http', url, headers };
  return {
    claude: { mcpServers: { [SERVER]: { ...http, timeout: TOOL_TIMEOUT_MS } } },
    codex: [
      'web_search = "disabled"',
      '',
      `[mcp_servers.${SERVER}]`,
      `url = ${JSON.stringify(`${base}/r/${secret}${SEAT_MCP_PATH}`)}`,
      'required = true',
      `startup_timeout_sec = ${START_TIMEOUT_MS / 1_000}`,
      `tool_timeout_sec = ${TOOL_TIMEOUT_MS / 1_000}`,
      'default_tools_approval_mode = "approve"',
      '',
    ].join('\n'),
    gemini: {
      privacy: { usageStatisticsEnabled: false },
      mcpServers: { [SERVER]: { httpUrl: url, headers, timeout: TOOL_TIMEOUT_MS, trust: true } },
    },
    opencode: {
      $schema: 'https://opencode.ai/config.json',
      mcp: { [SERVER]: { type: 'remote', url, headers, enabled: true } },
    },
    vscode: { servers: { [SERVER]: http } },
  };
}

/** Variables that have agents wait for their tools, and reach a local address past a proxy. */
export function seatVariables(base: string): Record<string, string> {
  return {
    MCP_CONNECTION_NONBLOCKING: 'false',
    MCP_TIMEOUT: String(START_TIMEOUT_MS),
    MCP_CONNECT_TIMEOUT_MS: String(START_TIMEOUT_MS),
    MCP_TOOL_TIMEOUT: String(TOOL_TIMEOUT_MS),
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    NO_PROXY: new URL(base).hostname,
  };
}
