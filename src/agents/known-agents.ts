import { join } from 'node:path';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
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
        ...['--mcp-config', '{mcp_config}', '--strict-mcp-config', '--model', '{model}', '{prompt}'],
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
export function startKnown(name: KnownAgent, seat: AgentSeat, home: string): KnownStart {
  switch (name) {
    case 'claude':
      return startClaude(seat, home);
    case 'codex':
      return startCodex(seat, home);
    case 'gemini':
      return startGemini(seat);
    case 'opencode':
      return startOpencode(seat, home);
  }
}

function startClaude({ model }: AgentSeat, home: string): KnownStart {
  const name = model ?? SLUG;
  return {
    files: {},
    variables: {
      CLAUDE_CONFIG_DIR: join(home, '.claude'),
      ...Object.fromEntries(CLAUDE_MODELS.map((variable) => [variable, name])),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS: '1',
      DISABLE_AUTOUPDATER: '1',
      // Without it the user root may not skip permissions.
      IS_SANDBOX: '1',
    },
  };
}

/** Every name by which it asks for a model, those of its side calls among them. */
const CLAUDE_MODELS = [
  'ANTHROPIC_MODEL',
  'ANTHROPIC_DEFAULT_OPUS_MODEL',
  'ANTHROPIC_DEFAULT_SONNET_MODEL',
  'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  'ANTHROPIC_SMALL_FAST_MODEL',
  'CLAUDE_CODE_SUBAGENT_MODEL',
] as const;

function startCodex({ configs, addresses }: AgentSeat, home: string): KnownStart {
  const model =
    addresses === null || configs.codex.includes('model_provider')
      ? ''
      : [
          `model = "${SLUG}"`,
          'model_provider = "proctor"',
          '[analytics]',
          'enabled = false',
          '[model_providers.proctor]',
          'name = "Proctor"',
          `base_url = ${JSON.stringify(addresses.openai_base_url)}`,
          'env_key = "OPENAI_API_KEY"',
          'wire_api = "responses"',
          'stream_idle_timeout_ms = 3600000',
          '',
        ].join('\n');
  // Settings at the top come before the first table.
  const [top = '', ...tables] = configs.codex.split(/^(?=\[)/m);
  const [modelTop = '', ...modelTables] = model.split(/^(?=\[)/m);
  return {
    files: { '.codex/config.toml': [modelTop, top, ...modelTables, ...tables].join('\n') },
    variables: { CODEX_HOME: join(home, '.codex') },
  };
}

function startGemini({ configs, addresses }: AgentSeat): KnownStart {
  // Without the type of its key the variable of its base address chooses another, which is not valid.
  const auth = addresses === null ? {} : { security: { auth: { selectedType: 'gemini-api-key' } } };
  // Without a model of its own it asks one which model to take, whose answer no scenario expects.
  const settings = merge(configs.gemini, { ...auth, model: { name: SLUG }, general: { enableAutoUpdate: false } });
  return {
    files: { '.gemini/settings.json': JSON.stringify(settings) },
    variables: { GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_CLI_NO_RELAUNCH: 'true' },
  };
}

function startOpencode({ configs, addresses }: AgentSeat, home: string): KnownStart {
  const provider: JsonObject =
    addresses === null
      ? {}
      : {
          enabled_providers: ['openai'],
          model: `openai/${SLUG}`,
          small_model: `openai/${SLUG}`,
          provider: {
            openai: {
              options: { baseURL: addresses.openai_base_url, apiKey: addresses.api_key },
              models: { [SLUG]: { name: SLUG } },
            },
          },
        };
  const file = '.config/opencode/opencode.json';
  return {
    files: { [file]: JSON.stringify(merge(configs.opencode, { ...provider, autoupdate: false, share: 'disabled' })) },
    variables: { OPENCODE_CONFIG: join(home, file), OPENCODE_DISABLE_AUTOUPDATE: '1' },
  };
}

/** Objects within objects; of other values the later one counts. */
function merge(a: JsonObject, b: JsonObject): JsonObject {
  const merged = { ...a };
  for (const [key, value] of Object.entries(b)) {
    const before = merged[key];
    merged[key] = isJsonObject(before) && isJsonObject(value) ? merge(before, value) : value;
  }
  return merged;
}
