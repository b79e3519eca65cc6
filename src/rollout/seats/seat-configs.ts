import type { JsonObject } from '../../contract/json.ts';
import { SEAT_MCP_PATH, type SeatConfigs, type SeatModelAddresses } from '../../contract/service/seat.ts';

/** Name of the MCP server in every configuration. Agents put it in front of tool names. */
const SERVER = 'env';
/** Milliseconds that an agent waits for a tool. It is longer than any tool may take here. */
const TOOL_TIMEOUT_MS = 600_000;
const START_TIMEOUT_MS = 300_000;
/**
 * Model name that is in no agent's catalogue. With a name that it knows, Codex switches to a code mode that shows the
 * model no tools. Every name leads to the run's model.
 */
const SLUG = 'proctor';

/** The address of a seat. @param base address of the service, without a slash at the end. */
export function seatAddress(base: string, secret: string) {
  return { url: `${base}${SEAT_MCP_PATH}`, headers: { Authorization: `Bearer ${secret}` } };
}

/** The address of a seat for agents that cannot send headers. */
export function seatAddressWithSecret(base: string, secret: string): string {
  return `${base}/r/${secret}${SEAT_MCP_PATH}`;
}

/** The addresses for the model calls of an agent. Clients of Anthropic and Gemini append the version themselves. */
export function modelAddresses(base: string, secret: string): SeatModelAddresses {
  return { api_key: secret, openai_base_url: `${base}/v1`, anthropic_base_url: base, gemini_base_url: base };
}

/**
 * The configuration of each known agent for this seat, without the machine's configuration. Codex gets the secret in
 * the path, because its versions differ in how they set headers.
 *
 * @param hasModel whether the agent's model calls go through the seat.
 */
export function createSeatConfigs(base: string, secret: string, hasModel = false): SeatConfigs {
  const { url, headers } = seatAddress(base, secret);
  const http: JsonObject = { type: 'http', url, headers };
  return {
    claude: { mcpServers: { [SERVER]: { ...http, timeout: TOOL_TIMEOUT_MS } } },
    codex: codexConfig(base, secret, hasModel),
    gemini: {
      privacy: { usageStatisticsEnabled: false },
      // Without this, the variable of the base address selects a sign-in method that is not valid.
      ...(hasModel ? { security: { auth: { selectedType: 'gemini-api-key' } }, model: { name: SLUG } } : {}),
      mcpServers: { [SERVER]: { httpUrl: url, headers, timeout: TOOL_TIMEOUT_MS, trust: true } },
    },
    opencode: {
      $schema: 'https://opencode.ai/config.json',
      ...(hasModel ? opencodeModel(base, secret) : {}),
      mcp: { [SERVER]: { type: 'remote', url, headers, enabled: true } },
    },
    vscode: { servers: { [SERVER]: http } },
  };
}

function codexConfig(base: string, secret: string, hasModel: boolean): string {
  const model = hasModel
    ? {
        top: [`model = "${SLUG}"`, 'model_provider = "proctor"'],
        tables: [
          '[analytics]',
          'enabled = false',
          '',
          '[model_providers.proctor]',
          'name = "Proctor"',
          `base_url = ${JSON.stringify(`${base}/r/${secret}/v1`)}`,
          'env_key = "OPENAI_API_KEY"',
          'wire_api = "responses"',
          'stream_idle_timeout_ms = 3600000',
          '',
        ],
      }
    : { top: [], tables: [] };
  return [
    ...model.top,
    'web_search = "disabled"',
    '',
    ...model.tables,
    `[mcp_servers.${SERVER}]`,
    `url = ${JSON.stringify(seatAddressWithSecret(base, secret))}`,
    'required = true',
    `startup_timeout_sec = ${START_TIMEOUT_MS / 1_000}`,
    `tool_timeout_sec = ${TOOL_TIMEOUT_MS / 1_000}`,
    'default_tools_approval_mode = "approve"',
    '',
  ].join('\n');
}

function opencodeModel(base: string, secret: string): JsonObject {
  const { openai_base_url: baseURL, api_key: apiKey } = modelAddresses(base, secret);
  return {
    model: `openai/${SLUG}`,
    small_model: `openai/${SLUG}`,
    provider: { openai: { options: { baseURL, apiKey }, models: { [SLUG]: { name: SLUG } } } },
  };
}

/** Variables that make agents wait for their tools and reach a local address without a proxy. */
export function seatVariables(base: string, model: SeatModelAddresses | null = null): Record<string, string> {
  return {
    MCP_CONNECTION_NONBLOCKING: 'false',
    MCP_TIMEOUT: String(START_TIMEOUT_MS),
    MCP_CONNECT_TIMEOUT_MS: String(START_TIMEOUT_MS),
    MCP_TOOL_TIMEOUT: String(TOOL_TIMEOUT_MS),
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    NO_PROXY: new URL(base).hostname,
    ...(model === null ? {} : modelVariables(model)),
  };
}

/** All variables that name a model for Claude Code, including those for its side calls and sub-agents. */
const CLAUDE_MODELS = [
  'ANTHROPIC_MODEL',
  'ANTHROPIC_DEFAULT_OPUS_MODEL',
  'ANTHROPIC_DEFAULT_SONNET_MODEL',
  'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  'ANTHROPIC_SMALL_FAST_MODEL',
  'CLAUDE_CODE_SUBAGENT_MODEL',
] as const;

function modelVariables(model: SeatModelAddresses): Record<string, string> {
  return {
    OPENAI_BASE_URL: model.openai_base_url,
    OPENAI_API_KEY: model.api_key,
    ANTHROPIC_BASE_URL: model.anthropic_base_url,
    ANTHROPIC_AUTH_TOKEN: model.api_key,
    ...Object.fromEntries(CLAUDE_MODELS.map((name) => [name, SLUG])),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS: '1',
    DISABLE_AUTOUPDATER: '1',
    GOOGLE_GEMINI_BASE_URL: model.gemini_base_url,
    GEMINI_API_KEY: model.api_key,
  };
}
