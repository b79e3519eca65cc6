import type { AgentTool } from '../../contract/chat.ts';
import { messageOf } from '../../contract/errors.ts';
import type { JsonObject, JsonSchema } from '../../contract/json.ts';
import { isTooDeep, MAX_INPUT_DEPTH } from '../../contract/json-depth.ts';
import { SUBMIT_ANSWER } from '../../contract/service/seat.ts';
import type { ToolResult } from '../../environment/client/environment-client.ts';
import { createAnswerTool } from '../../rollout/seats/answer-tool.ts';
import type { LiveSeat } from '../../rollout/seats/live-seat.ts';
import type { AgentTurn } from '../../rollout/session/agent.ts';
import type { SessionEnd } from '../../rollout/session/session-end.ts';
import { toPublicMessage } from '../../support/redaction/machine-text.ts';
import { validateJsonSchema } from '../../support/schema/json-schema.ts';
import { Activity } from './activity.ts';

/** Reason why the tool did not answer a call. `lost`: the environment crashed, which ended the episode. */
export type CallRefusal = 'tool_not_found' | 'invalid_args' | 'over' | 'lost';

/** Answer to a call. `reward` is set once the episode was evaluated. */
export type CallOutcome =
  | { readonly kind: 'answered'; readonly result: ToolResult }
  | { readonly kind: 'finished'; readonly result: ToolResult; readonly reward: number }
  | { readonly kind: 'refused'; readonly why: CallRefusal; readonly message: string };

/** The agent learns nothing of the grading but the reward (contract section 11). */
const RECEIVED: ToolResult = {
  content: [{ type: 'text', text: 'received' }],
  structured_content: null,
  is_error: false,
};

/** One scenario that a client of another protocol plays by tool calls. `Episodes` creates and ends it. */
export class Episode {
  readonly traceId: string;
  readonly #seat: LiveSeat;
  readonly #opening: Promise<AgentTurn>;
  readonly #activity: Activity;

  /** @param now milliseconds of a monotonic clock. */
  constructor(seat: LiveSeat, now: () => number) {
    this.traceId = seat.traceId;
    this.#seat = seat;
    this.#activity = new Activity(now);
    this.#opening = seat.open();
    this.#opening.catch(() => {}); // Callers of `ready` get the error.
  }

  /** Milliseconds without a call. 0 while a call or the setup is running. */
  get idleMs(): number {
    return this.#activity.idleMs;
  }

  /** Resolves when the episode has ended and its environment is closed; undefined if its end could not be written. */
  get ended(): Promise<SessionEnd | undefined> {
    return this.#seat.ended;
  }

  get isOver(): boolean {
    return this.#seat.isOver;
  }

  /** Marks the episode as active: its client has sent a message. */
  touch(): void {
    this.#activity.touch();
  }

  /** Waits until the scenario is set up. @throws as `LiveSeat.open`. */
  async ready(): Promise<AgentTurn> {
    return await this.#activity.during(() => this.#opening);
  }

  /** Lists the tools that the agent may call, `submit_answer` last. @throws as `ready`. */
  async tools(): Promise<readonly AgentTool[]> {
    const { tools, setup } = await this.ready();
    return [...tools, toAnswerTool(setup.answer_schema)];
  }

  /**
   * Calls a tool of the agent, or submits the answer. A client that disconnects aborts nothing.
   *
   * @param signal aborted when the client cancels the call; a submitted answer is still evaluated. Default: never.
   * @throws as `ready`.
   */
  async call(name: string, args: JsonObject, signal = new AbortController().signal): Promise<CallOutcome> {
    return await this.#activity.during(async () => {
      const turn = await this.#opening;
      if (name === SUBMIT_ANSWER) return await this.#submit(turn, args);
      const tool = turn.tools.find((each) => each.name === name);
      if (tool === undefined) return { kind: 'refused', why: 'tool_not_found', message: unknownTool(name, turn) };
      if (this.isOver) return await this.#over();
      if (isTooDeep(args, MAX_INPUT_DEPTH)) return tooDeep(name);
      const result = await this.#seat.agent.call(name, args, signal);
      if (!this.#seat.agent.isOver || this.#seat.agent.submitted !== undefined) return toAnswered(tool, args, result);
      // The call was the last one that the episode allows, or it crashed the environment.
      const end = await this.ended;
      if (end?.status === 'completed' && end.reward !== null) return { kind: 'finished', result, reward: end.reward };
      return await this.#over();
    });
  }

  async #submit(turn: AgentTurn, args: JsonObject): Promise<CallOutcome> {
    const tool = createAnswerTool(turn.setup.answer_schema, (answer) => this.#seat.submit(answer));
    const parsed = await tool.input.parse(args);
    if (!parsed.ok) {
      const issues = parsed.issues.map(({ path, message }) => `${path === '' ? 'the arguments' : path} ${message}`);
      return { kind: 'refused', why: 'invalid_args', message: `The answer was not taken: ${issues.join('; ')}.` };
    }
    // The schema of the tool was checked.
    const { answer } = parsed.value as { readonly answer: Parameters<LiveSeat['submit']>[0] };
    if (!this.#seat.submit(answer)) return await this.#over();
    const end = await this.ended;
    if (end?.status !== 'completed' || end.reward === null) return await this.#over();
    return { kind: 'finished', result: RECEIVED, reward: end.reward };
  }

  async #over(): Promise<CallOutcome> {
    const end = await this.ended;
    if (end?.status === 'completed') {
      const message = 'The episode is over: its answer was submitted, and nothing can be called any more.';
      return { kind: 'refused', why: 'over', message };
    }
    const cause = end?.error == null ? 'its session was ended' : toPublicMessage(messageOf(end.error));
    return { kind: 'refused', why: 'lost', message: `The episode has ended without a reward: ${cause}` };
  }
}

/** `submit_answer` as clients list it. @param schema of the answer; null for a text. */
export function toAnswerTool(schema: JsonSchema | null): AgentTool {
  const { name, description, input } = createAnswerTool(schema, () => false);
  return { name, description: description ?? '', input_schema: input.jsonSchema };
}

/**
 * Tells invalid arguments, which the protocols report apart, from other errors of the tool. The trace has the
 * original.
 */
function toAnswered(tool: AgentTool, args: JsonObject, result: ToolResult): CallOutcome {
  if (!result.is_error || validateJsonSchema(tool.input_schema, args).length === 0) return { kind: 'answered', result };
  const texts = result.content.flatMap(({ type, text }) => (type === 'text' ? [String(text)] : []));
  return { kind: 'refused', why: 'invalid_args', message: texts.join('\n') };
}

function tooDeep(name: string): CallOutcome {
  const message = `The call of ${name} was not run: its arguments are nested more than ${MAX_INPUT_DEPTH} deep.`;
  return { kind: 'refused', why: 'invalid_args', message };
}

function unknownTool(name: string, { tools }: AgentTurn): string {
  const names = [...tools.map((tool) => tool.name), SUBMIT_ANSWER].join(', ');
  return `There is no tool ${JSON.stringify(name.slice(0, 100))}. There are ${names}.`;
}
