import { join } from 'node:path';
import type { AgentNeeds, KnownAgent } from './agent-definition.ts';
import type { AgentSeat } from './agent-seat.ts';

/** The part of a start that a known agent needs of its own. */
export interface KnownStart {
  readonly variables: Readonly<Record<string, string>>;
  /** Files of its home, by path from there. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * A slug that no agent has in a catalogue: with one of its own Codex works in a code mode, which shows a model no tools.
 * The seat asks the run's model, whatever name it is asked for.
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

/** The command line that has a known agent play without asking anybody, on its own configuration alone. */
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

/** @param home absolute. */
export function startKnown(name: KnownAgent, { configs }: AgentSeat, home: string): KnownStart {
  switch (name) {
    case 'claude':
      return {
        files: {},
        // Without the second one the user root may not skip permissions.
        variables: { CLAUDE_CONFIG_DIR: join(home, '.claude'), IS_SANDBOX: '1' },
      };
    case 'codex':
      return { files: { '.codex/config.toml': configs.codex }, variables: { CODEX_HOME: join(home, '.codex') } };
    case 'gemini':
      return {
        files: { '.gemini/settings.json': JSON.stringify({ ...configs.gemini, general: { enableAutoUpdate: false } }) },
        // Otherwise it starts itself once more, for memory that no scenario needs.
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
