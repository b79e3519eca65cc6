import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { readableText } from '../../contract/content-text.ts';
import { makeOwnedFolder } from '../../environment/process/owned-folder.ts';
import type { AgentDefinition } from './agent-definition.ts';
import type { AgentSeat } from './agent-seat.ts';
import { startKnown } from './known-agents.ts';
import { inSandbox, SANDBOX_ID, sandboxProblem } from './sandbox.ts';

/** Longest argument of a command on Linux, in bytes, including the zero at its end. */
const MAX_ARGUMENT_BYTES = 131_072;

export interface StartOptions {
  /** Folders of Proctor that no sandbox shows. */
  readonly hidden: readonly string[];
}

/** A command that is ready to start, with its own folder. The caller must remove it. */
export interface AgentStart {
  readonly command: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** Empty directory in which the agent starts. */
  readonly workingDirectory: string;
  /** Reason why the agent runs without a sandbox; undefined if it has one. */
  readonly openBecause: string | undefined;
  remove(): void;
}

/**
 * Makes the folder of a start: a home with only the configuration of a known agent, and an empty working directory. The
 * file `{mcp_config}` lies beside both.
 *
 * @throws Error for a prompt that is too long for a command line.
 */
export async function prepareStart(
  agent: AgentDefinition,
  seat: AgentSeat,
  options: StartOptions,
): Promise<AgentStart> {
  const openBecause = await sandboxProblem();
  const { path: folder, remove } = makeOwnedFolder('proctor-agent', realpathSync(tmpdir()));
  try {
    const [home, workingDirectory] = [join(folder, 'home'), join(folder, 'work')];
    for (const path of [home, workingDirectory]) mkdirSync(path, { mode: 0o700 });
    const mcpConfig = join(folder, 'mcp.json');
    write(mcpConfig, JSON.stringify(seat.configs.claude));
    for (const [name, text] of Object.entries(userFiles(home))) write(join(folder, 'etc', name), text);
    const known = agent.known === null ? undefined : startKnown(agent.known, seat, home);
    for (const [path, text] of Object.entries(known?.files ?? {})) write(join(home, path), text);
    const fill = createFill({
      prompt: promptText(seat),
      mcp_config: mcpConfig,
      mcp_url: seat.mcpUrl,
      model: seat.model ?? '',
    });
    const filled = agent.command.map(fill);
    checkLengths(agent.name, filled);
    const words = [...filled, ...extraArguments(agent, openBecause === undefined)];
    const named = {
      command: words,
      template: agent.command,
      folder,
      workingDirectory,
      readable: agent.readable,
      hidden: options.hidden,
    };
    return {
      command: openBecause === undefined ? inSandbox(named) : words,
      variables: {
        ...basicVariables(home, folder, openBecause === undefined),
        ...seatVariables(agent, seat),
        ...known?.variables,
        ...Object.fromEntries(Object.entries(agent.env).map(([name, value]) => [name, fill(value)])),
      },
      workingDirectory,
      openBecause,
      remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/**
 * The task as one text: the system text, then the messages. An image appears by name; the seat's prompt `task` has the
 * image.
 */
export function promptText({ system, prompt }: Pick<AgentSeat, 'system' | 'prompt'>): string {
  const parts = prompt.map(({ content }) => readableText(content, '\n'));
  return [...(system === null ? [] : [system]), ...parts].join('\n\n');
}

type Values = Readonly<Record<'prompt' | 'mcp_config' | 'mcp_url' | 'model', string>>;

/** Replaces templates in one pass, so that `{…}` in an inserted value stays as it is. */
function createFill(values: Values): (text: string) => string {
  return (text) => text.replaceAll(/\{(prompt|mcp_config|mcp_url|model)\}/g, (_, name: keyof Values) => values[name]);
}

function checkLengths(name: string, words: readonly string[]): void {
  const longest = Math.max(...words.map((word) => Buffer.byteLength(word)));
  if (longest < MAX_ARGUMENT_BYTES) return;
  throw new Error(
    `The agent ${name} cannot be started: an argument of its command would have ${longest} bytes, and may have ${MAX_ARGUMENT_BYTES - 1}. Have it read the prompt "task" of its MCP server instead of {prompt}, or use its ACP`,
  );
}

/** Turns off Codex's own sandbox for its shell, which cannot run inside another sandbox. */
function extraArguments({ known, protocol }: AgentDefinition, isSandboxed: boolean): readonly string[] {
  return known === 'codex' && protocol === 'exec' && isSandboxed ? ['--dangerously-bypass-approvals-and-sandbox'] : [];
}

/** Passes no variable of this process except those for finding programs and for the language. */
function basicVariables(home: string, folder: string, isSandboxed: boolean): Record<string, string> {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG = 'C.UTF-8' } = process.env;
  // A sandbox does not contain the folders of the user's home.
  const folders = PATH.split(delimiter).filter((path) => !isSandboxed || !path.startsWith(`${homedir()}/`));
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary, { mode: 0o700 });
  return {
    PATH: [dirname(process.execPath), ...folders].join(delimiter),
    HOME: home,
    USER: 'agent',
    LANG,
    TERM: 'dumb',
    TMPDIR: temporary,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    XDG_CACHE_HOME: join(home, '.cache'),
    XDG_STATE_HOME: join(home, '.local/state'),
  };
}

/** Names of the variables by which programs of each protocol find their model. */
const MODEL_VARIABLES = {
  openai: /^OPENAI_/,
  anthropic: /^(ANTHROPIC|CLAUDE)_/,
  gemini: /^(GOOGLE|GEMINI)_/,
  none: /^(?!)/,
} as const;

/** Variables of the seat without those for protocols that the agent does not use. */
function seatVariables({ needs }: AgentDefinition, { env }: AgentSeat): Record<string, string> {
  const isOfOthers = (name: string) =>
    Object.entries(MODEL_VARIABLES).some(([protocol, pattern]) => protocol !== needs && pattern.test(name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isOfOthers(name)));
}

/** User and group files of a sandbox, because programs look up their user's name. */
function userFiles(home: string): Record<string, string> {
  return { passwd: `agent:x:${SANDBOX_ID}:${SANDBOX_ID}::${home}:/bin/sh\n`, group: `agent:x:${SANDBOX_ID}:\n` };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, text, { mode: 0o600 });
}
