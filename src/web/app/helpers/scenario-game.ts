import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import type { Json, JsonObject } from '../../../contract/json.ts';
import type { Evaluation, SetupResult } from '../../../contract/scenario.ts';
import { type AskOptions, type LogLine, McpSession } from './mcp-session.ts';

/** The key that was given is not that of the server, or the server has none. */
export class WrongKeyError extends Error {
  constructor() {
    super('This is not the harness key of this server. A server that is started again has another key.');
  }
}

/** A scenario in a session of its own, whose connection is a harness's. Whoever started it closes it. */
export class ScenarioGame {
  /**
   * Opens a session and sets the scenario up in it.
   *
   * @throws WrongKeyError; Error in the environment's words when the setup failed.
   */
  static async start(
    endpoint: URL,
    harnessKey: string,
    { name, args }: Start,
    options: AskOptions,
  ): Promise<ScenarioGame> {
    const session = await openHarness(endpoint, harnessKey, options.signal);
    try {
      const setup = resultOf<SetupResult>(await session.callHarness('setup', name, args, options));
      return new ScenarioGame(session, name, setup);
    } catch (error) {
      session.close();
      throw error;
    }
  }

  readonly session: McpSession;
  readonly setup: SetupResult;
  readonly #name: string;

  private constructor(session: McpSession, name: string, setup: SetupResult) {
    this.session = session;
    this.#name = name;
    this.setup = setup;
  }

  /** Lists the tools that the agent may call while the scenario is active. */
  tools(signal: AbortSignal): Promise<readonly Tool[]> {
    return this.session.tools(signal);
  }

  /** Submits the answer; the scenario is over then. @throws Error in the environment's words. */
  async evaluate(answer: Json, options: AskOptions): Promise<Evaluation> {
    return resultOf<Evaluation>(await this.session.callHarness('evaluate', this.#name, { answer }, options));
  }

  /** Calls back when the server says that the scenario is lost, as it does after a reload. Returns the way to stop. */
  onLost(listener: (why: string) => void): () => void {
    return this.session.onLog(({ logger, text }: LogLine) => logger === 'proctor' && listener(text));
  }

  close(): void {
    this.session.close();
  }
}

interface Start {
  /** Short. */
  readonly name: string;
  readonly args: JsonObject;
}

/** @throws WrongKeyError */
export async function assertKey(endpoint: URL, harnessKey: string, signal: AbortSignal): Promise<void> {
  (await openHarness(endpoint, harnessKey, signal)).close();
}

async function openHarness(endpoint: URL, harnessKey: string, signal: AbortSignal): Promise<McpSession> {
  const session = await McpSession.open(endpoint, { harnessKey, signal });
  let isHarness = false;
  try {
    isHarness = await session.isHarness(signal);
  } finally {
    if (!isHarness) session.close();
  }
  if (!isHarness) throw new WrongKeyError();
  return session;
}

/** @throws Error with the text of a result that is an error. */
function resultOf<Result>({ isError, content, structuredContent }: CallToolResult): Result {
  if (isError !== true && structuredContent !== undefined) return structuredContent as Result; // By the contract.
  const texts = content.map((block) => (block.type === 'text' ? block.text : ''));
  throw new Error(texts.join('\n') || 'The environment answered nothing');
}
