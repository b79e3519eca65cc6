import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { readableText } from '../contract/content-text.ts';
import { makeOwnedFolder } from '../process/owned-folder.ts';
import type { AgentDefinition } from './agent-definition.ts';
import type { AgentSeat } from './agent-seat.ts';
import { startKnown } from './known-agents.ts';
import { inSandbox, SANDBOX_ID, sandboxProblem } from './sandbox.ts';

/** Bytes that one argument of a command may have on Linux, the zero at its end among them. */
const MAX_ARGUMENT_BYTES = 131_072;

export interface StartOptions {
  /** Folders of Proctor that no sandbox shows. */
  readonly hidden: readonly string[];
}

/** A command that is ready to be started, with a folder of its own. Whoever made it removes it. */
export interface AgentStart {
  readonly command: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** Empty. */
  readonly workingDirectory: string;
  /** Why it runs in no sandbox; undefined where it does. */
  readonly openBecause: string | undefined;
  remove(): void;
}

/**
 * Makes the folder of a start: an empty home, but for the configuration of an agent that is known, and an empty working
 * directory; `{mcp_config}` lies beside both.
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

/** The task as one text: system text first, then its messages. An image is named, and is in the prompt `task` of the seat. */
export function promptText({ system, prompt }: Pick<AgentSeat, 'system' | 'prompt'>): string {
  const parts = prompt.map(({ content }) => readableText(content, '\n'));
  return [...(system === null ? [] : [system]), ...parts].join('\n\n');
}

type Values = Readonly<Record<'prompt' | 'mcp_config' | 'mcp_url' | 'model', string>>;

/** Fills templates in, once: what is filled in holds none. */
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

/** Codex has a sandbox of its own for its shell, which cannot be made within another. */
function extraArguments({ known, protocol }: AgentDefinition, isSandboxed: boolean): readonly string[] {
  return known === 'codex' && protocol === 'exec' && isSandboxed ? ['--dangerously-bypass-approvals-and-sandbox'] : [];
}

/** Nothing of this process's variables but where programs and texts are found. */
function basicVariables(home: string, folder: string, isSandboxed: boolean): Record<string, string> {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG = 'C.UTF-8' } = process.env;
  // Folders of the user's home are not there in a sandbox.
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

/** Those of the seat without what other protocols than its own need. */
function seatVariables({ needs }: AgentDefinition, { env }: AgentSeat): Record<string, string> {
  const isOfOthers = (name: string) =>
    Object.entries(MODEL_VARIABLES).some(([protocol, pattern]) => protocol !== needs && pattern.test(name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isOfOthers(name)));
}

/** The users of a sandbox: programs ask for the name of theirs. */
function userFiles(home: string): Record<string, string> {
  return { passwd: `agent:x:${SANDBOX_ID}:${SANDBOX_ID}::${home}:/bin/sh\n`, group: `agent:x:${SANDBOX_ID}:\n` };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, text, { mode: 0o600 });
}
