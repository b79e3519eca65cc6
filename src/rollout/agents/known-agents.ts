import { join } from 'node:path';
import type { AgentNeeds, KnownAgent } from './agent-definition.ts';
import type { AgentSeat } from './agent-seat.ts';

/** Variables and files that a known agent needs in addition. */
export interface KnownStart {
  readonly variables: Readonly<Record<string, string>>;
  /** Files to write into its home, by relative path. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Model name that is in no agent's catalogue. With a name that it knows, Codex switches to a code mode that shows the
 * model no tools. The seat asks the run's model for any name.
 */
const SLUG = 'proctor';

const NEEDS: Readonly<Record<KnownAgent, AgentNeeds>> = {
  claude: 'anthropic',
  codex: 'openai',
  gemini: 'gemini',
  opencode: 'openai',
};

export function knownNeeds(name: KnownAgent): AgentNeeds {
  return NEEDS[name];
}

/** The command line that starts a known agent without questions to a user and without the user's configuration. */
export function knownCommand(name: KnownAgent, program: string): readonly [string, ...string[]] {
  switch (name) {
    case 'claude':
      return [
        program,
        ...['--print', '--output-format', 'stream-json', '--verbose', '--dangerously-skip-permissions'],
        ...['--mcp-config', '{mcp_config}', '--strict-mcp-config', '--model', SLUG, '{prompt}'],
      ];
    case 'codex':
      return [
        program,
        ...['exec', '--json', '--color', 'never', '--skip-git-repo-check', '--ephemeral', '--model', SLUG, '{prompt}'],
      ];
    case 'gemini':
      return [
        program,
        ...['--model', SLUG, '--output-format', 'json', '--yolo', '--allowed-mcp-server-names', 'env', '{prompt}'],
      ];
    case 'opencode':
      return [program, 'run', '--model', `openai/${SLUG}`, '--format', 'json', '--auto', '{prompt}'];
  }
}

/** @param home absolute path of the agent's home. */
export function startKnown(name: KnownAgent, { configs }: AgentSeat, home: string): KnownStart {
  switch (name) {
    case 'claude':
      return {
        files: {},
        // Without `IS_SANDBOX`, Claude Code refuses to skip permissions for the user root.
        variables: { CLAUDE_CONFIG_DIR: join(home, '.claude'), IS_SANDBOX: '1' },
      };
    case 'codex':
      return { files: { '.codex/config.toml': configs.codex }, variables: { CODEX_HOME: join(home, '.codex') } };
    case 'gemini':
      return {
        files: { '.gemini/settings.json': JSON.stringify({ ...configs.gemini, general: { enableAutoUpdate: false } }) },
        // Without this, Gemini CLI restarts itself to get more memory.
        variables: { GEMINI_CLI_NO_RELAUNCH: 'true' },
      };
    case 'opencode':
      return {
        files: { [OPENCODE_CONFIG]: JSON.stringify({ ...configs.opencode, autoupdate: false, share: 'disabled' }) },
        variables: { OPENCODE_CONFIG: join(home, OPENCODE_CONFIG), OPENCODE_DISABLE_AUTOUPDATE: '1' },
      };
  }
}

const OPENCODE_CONFIG = '.config/opencode/opencode.json';
