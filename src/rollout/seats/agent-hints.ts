/** Advice on how to make each agent wait for its tools, by its `user-agent` header. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /claude/i,
    'Claude Code: set MCP_CONNECTION_NONBLOCKING=false and MCP_TIMEOUT=300000, and give the file of configs.claude to --mcp-config with --strict-mcp-config.',
  ],
  [
    /codex/i,
    'Codex: use the config.toml of configs.codex, with required = true for its MCP server, and the model name in it: with a name that Codex knows its tools are hidden in a code mode.',
  ],
  [
    /gemini/i,
    'Gemini CLI: set GEMINI_CLI_TRUST_WORKSPACE=true, without which it skips its MCP servers, and use the settings.json of configs.gemini.',
  ],
  [/opencode/i, 'opencode: set OPENCODE_CONFIG to the file of configs.opencode, with its MCP server enabled.'],
];

const GENERAL =
  'Connect to the MCP address of the seat and list its tools before the first call of the model, and offer all of them to it.';

export function hintFor(agent: string): string {
  return HINTS.find(([pattern]) => pattern.test(agent))?.[1] ?? GENERAL;
}
