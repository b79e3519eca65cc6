import type { Command } from 'commander';
import { messageOf } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import { MAX_STEPS, SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import type { FinishedSession } from '../../contract/session.ts';
import { type ChatSession, TURN_LIMIT_MS } from '../../service/chat/chat-session.ts';
import { createSessionEngine, type SessionEngine } from '../../service/chat/session-engine.ts';
import { toFinishedSession } from '../../service/chat/session-routes.ts';
import { resolveEnvironment } from '../../service/config/find-environments.ts';
import { type Installation, openInstallation } from '../../service/runs/installation.ts';
import { RegisteredModels } from '../../store/models/registered-models.ts';
import { LOCAL_CALLER } from '../../support/http/api/api-keys.ts';
import { LONGEST_TIMER_MS } from '../../support/runtime/deadline.ts';
import { SilentFailure, UsageError } from '../base/failure.ts';
import { howToOpen } from '../base/how-to-open.ts';
import { createLogger } from '../base/logger.ts';
import { collect, parseScenarioArgs, wholeNumber } from '../base/options.ts';
import { readScenarioArgs, scenarioMissing } from '../base/scenario-arguments.ts';
import { startTelemetry } from '../base/telemetry.ts';
import { colors, note, print, printJson } from '../base/terminal.ts';
import { ChatInput, type ChatLine } from './chat-input.ts';
import { ChatView } from './chat-view.ts';
import { watchUser } from './watch-user.ts';

export function addChatCommand(program: Command): void {
  program
    .command('chat <environment> [scenario]')
    .description('Chat with a model that plays a scenario, and get its reward.')
    .option('--arg <name=value>', 'an argument of the scenario; may be repeated', collect)
    .option('--args <json>', 'the arguments as one JSON object')
    .option(
      '--model <model>',
      'a model of the gateway, proctor/oracle, proctor/noop or proctor/random',
      'proctor/oracle',
    )
    .option(
      '--max-steps <count>',
      'model responses of a turn, with --user of all turns, 1 to 500 (default 100)',
      wholeNumber(1, MAX_STEPS.maximum),
    )
    .option('--user', 'watch: a simulated user talks with the model in your place')
    .option('--user-model <model>', 'with --user: plays it (default: of the scenario, else models.user)')
    .option('--judge-model <model>', 'with --user: judges (default: of the question, else models.judge)')
    .option('--json', 'print one JSON object at the end, and nothing of the conversation')
    .addHelpText(
      'after',
      `
The model plays the scenario's prompt first. Then each line that you write is a turn; lines may come from a pipe, too.
  /finish           submit what the model said last, and print the reward
  /finish <answer>  submit this answer (JSON where the scenario wants JSON)
  /quit             abandon the session without a reward
  //text            send "/text" to the model
The end of the input finishes. Ctrl-C stops the turn that runs; where none runs, or once more, it abandons the session.

With --user the conversation is a run that you watch: nothing is read from standard input, and Ctrl-C cancels it.
A scenario with the argument user_script needs no model for its user: proctor/user-script says its lines.

Exit code: 0 with a reward; 1 without one; 2 when the command is wrong, and nothing ran.

Examples:
  $ proctor chat counter count_to --arg target=3
  $ proctor chat retail task --arg task_id=1 --model gpt-5-mini
  $ proctor chat retail conversation --arg task_id=1 --user --model gpt-5-mini --user-model gpt-5-mini
  $ printf 'Look again.\\n/finish\\n' | proctor chat counter count_to --arg target=3 --json`,
    )
    .action(chat);
}

interface ChatOptions {
  readonly arg?: readonly string[];
  readonly args?: string;
  readonly model: string;
  readonly maxSteps?: number;
  readonly user?: boolean;
  readonly userModel?: string;
  readonly judgeModel?: string;
  readonly json?: boolean;
}

const STOPPED = {
  active: 'What the model had done before is kept: say how to go on.',
  ended: 'A session whose first turn has no answer is closed.',
} as const;
const COMMANDS = '/finish [answer] gets the reward, /quit abandons.';
/** Only this terminal can continue the session, so it never expires. */
const NO_EXPIRY_MS = LONGEST_TIMER_MS;

async function chat(environment: string, scenario: string | undefined, options: ChatOptions): Promise<void> {
  const { user = false, ...watched } = options;
  if (user) return await watchUser(environment, scenario, watched);
  if (options.userModel !== undefined || options.judgeModel !== undefined) {
    throw new UsageError('--user-model and --judge-model belong to --user: without it you are the user.');
  }
  await using installation = await openInstallation();
  await using _telemetry = await startTelemetry({ ...installation, warn: note });
  const { name, target } = resolveEnvironment(
    environment,
    installation.environments,
    installation.directory,
    installation.settings.sandbox,
  );
  const engine = createSessionEngine({
    environments: new Map([[name, target]]),
    database: installation.database,
    store: installation.store,
    models: installation.models,
    model: options.model,
    logger: createLogger('error', installation.redactor),
    sessionTtlMs: NO_EXPIRY_MS,
  });
  try {
    const registered = new RegisteredModels(installation.database);
    await registered.check(installation.models, LOCAL_CALLER.account, options.model);
    const { entry, args } = await readScenario(engine, name, scenario, options);
    const session = await engine.registry.start({
      account: LOCAL_CALLER.account,
      scenario: `${name}:${entry.short_name}`,
      args,
      model: options.model,
      maxSteps: options.maxSteps,
      sampling: {},
    });
    const finished = await new Conversation(engine, session, installation, options.json === true).hold();
    if (!options.json) note(colors.dim(await howToOpen([session.traceId], installation.settings.appUrl)));
    if (finished === undefined) throw new SilentFailure();
  } finally {
    await engine.close(SHUTDOWN_GRACE_MS.service / 2);
  }
}

/** Checks the command's arguments before a session is started. */
async function readScenario(
  { catalogue }: SessionEngine,
  environment: string,
  scenario: string | undefined,
  options: ChatOptions,
): Promise<{ readonly entry: ScenarioEntry; readonly args: JsonObject }> {
  parseScenarioArgs(options.args, options.arg); // Syntax errors are reported before the environment starts.
  const command = `proctor chat ${environment}` as const;
  if (scenario === undefined) throw scenarioMissing(environment, await catalogue.scenarios(environment), command);
  const entry = await catalogue.find(environment, scenario);
  return { entry, args: readScenarioArgs(entry, options, command) };
}

/** A session with a user at a terminal or a pipe: turns until it is finished or abandoned. */
class Conversation {
  readonly #engine: SessionEngine;
  readonly #session: ChatSession;
  readonly #traceUrl: (traceId: string) => string;
  readonly #isJson: boolean;
  readonly #view: ChatView;
  readonly #input = new ChatInput();

  constructor(engine: SessionEngine, session: ChatSession, { settings }: Installation, isJson: boolean) {
    this.#engine = engine;
    this.#session = session;
    this.#traceUrl = (traceId) => `${settings.appUrl}/traces/${traceId}`;
    this.#isJson = isJson;
    const isTerminal = process.stderr.isTTY === true;
    this.#view = new ChatView({ isSilent: isJson, isTerminal, model: session.options.model });
  }

  /** @returns the result of finishing; undefined without a reward. */
  async hold(): Promise<FinishedSession | undefined> {
    try {
      await this.#turn(undefined);
      if (this.#input.isTerminal && this.#session.status === 'active') {
        note(colors.dim(`Each line is a turn. ${COMMANDS}`));
      }
      while (this.#session.status === 'active') {
        const line = await this.#input.read();
        if (line.type === 'unknown') {
          const command = this.#view.toText(line.command);
          note(colors.yellow(`There is no ${command}. ${COMMANDS} /${command} sends it to the model as text.`));
          continue;
        }
        if (line.type !== 'message') return await this.#end(line);
        if (!this.#input.isTerminal) this.#view.message(line.text);
        await this.#turn(line.text);
      }
      return this.#report(undefined);
    } finally {
      this.#input.close();
    }
  }

  /** Plays a turn. After an error the session continues, unless it was the first turn. */
  async #turn(message: string | undefined): Promise<void> {
    const stop = this.#input.whileBusy();
    try {
      const messages = message === undefined ? [] : [{ role: 'user', content: message } as const];
      const { finishReason } = await this.#session.turn(messages, {
        signal: stop.signal,
        limitMs: TURN_LIMIT_MS.streamed,
        onDelta: (delta) => this.#view.delta(delta),
        onEvent: (event) => this.#view.event(event, this.#session.setup),
      });
      this.#view.end(finishReason);
    } catch (thrown) {
      this.#view.end('stop');
      if (stop.signal.aborted)
        note(colors.yellow(`Stopped. ${STOPPED[this.#session.status === 'active' ? 'active' : 'ended']}`));
      else note(colors.red(this.#view.toText(messageOf(thrown))));
    } finally {
      stop.end();
    }
  }

  async #end(line: Extract<ChatLine, { readonly type: 'finish' | 'quit' }>): Promise<FinishedSession | undefined> {
    if (line.type === 'quit') {
      await this.#session.abandon();
      return this.#report(undefined);
    }
    const stop = this.#input.whileBusy();
    stop.signal.addEventListener('abort', () => void this.#session.terminate(stop.signal.reason));
    try {
      const answer = line.answer === undefined ? undefined : this.#readAnswer(line.answer);
      const { registry } = this.#engine;
      const finished = await registry.finish(LOCAL_CALLER.account, this.#session.id, answer);
      return this.#report(toFinishedSession(finished, this.#traceUrl));
    } catch (thrown) {
      note(colors.red(this.#view.toText(messageOf(thrown))));
      return this.#report(undefined);
    } finally {
      stop.end();
    }
  }

  /** Parses an answer: a string if the schema takes one, otherwise JSON, or text if that is invalid. */
  #readAnswer(text: string) {
    const schema = this.#session.setup?.answer_schema ?? null;
    if (schema === null || schema.type === 'string') return text;
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }

  #report(finished: FinishedSession | undefined): FinishedSession | undefined {
    const { id, traceId, status, end } = this.#session;
    const trace_url = this.#traceUrl(traceId);
    if (this.#isJson) {
      const failure = {
        session_id: id,
        trace_id: traceId,
        trace_url,
        status,
        reward: null,
        message: end?.error?.message ?? null,
      };
      printJson(finished ?? failure);
    } else if (finished === undefined) {
      print('no reward');
      note(`${colors.yellow(status)}  ${colors.dim(trace_url)}`);
    } else {
      this.#view.evaluation(finished.evaluation);
      print(`reward ${finished.reward}`);
      note(colors.dim(trace_url));
    }
    return finished;
  }
}
