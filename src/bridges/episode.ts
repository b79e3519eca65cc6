import type { ToolResult } from '../client/environment-client.ts';
import type { AgentTool } from '../contract/chat.ts';
import { messageOf } from '../contract/errors.ts';
import type { JsonObject, JsonSchema } from '../contract/json.ts';
import { isTooDeep, MAX_INPUT_DEPTH } from '../contract/json-depth.ts';
import { SUBMIT_ANSWER } from '../contract/seat.ts';
import { toPublicMessage } from '../http/errors.ts';
import type { AgentTurn } from '../rollout/agent.ts';
import type { SessionEnd } from '../rollout/session-end.ts';
import { validateJsonSchema } from '../schema/json-schema.ts';
import { createAnswerTool } from '../seats/answer-tool.ts';
import type { OpenSeat } from '../seats/open-seat.ts';

/** Why a call was not answered by its tool. `lost`: the environment is gone, and the episode with it. */
export type CallRefusal = 'tool_not_found' | 'invalid_args' | 'over' | 'lost';

/** The answer to a call, for its client. `reward` is there once the episode was evaluated. */
export type CallOutcome =
  | { readonly kind: 'answered'; readonly result: ToolResult }
  | { readonly kind: 'finished'; readonly result: ToolResult; readonly reward: number }
  | { readonly kind: 'refused'; readonly why: CallRefusal; readonly message: string };

/** All that grading tells the side of the agent beside the reward (contract section 11). */
const RECEIVED: ToolResult = {
  content: [{ type: 'text', text: 'received' }],
  structured_content: null,
  is_error: false,
};

/** One scenario that a client of another protocol plays by tool calls. `Episodes` makes it, and ends it. */
export class Episode {
  readonly traceId: string;
  readonly #seat: OpenSeat;
  readonly #opening: Promise<AgentTurn>;
  readonly #now: () => number;
  #running = 0;
  #lastActiveAt: number;

  /** @param now milliseconds on any clock that only goes on. */
  constructor(seat: OpenSeat, now: () => number) {
    this.traceId = seat.traceId;
    this.#seat = seat;
    this.#now = now;
    this.#lastActiveAt = now();
    this.#opening = seat.open();
    this.#opening.catch(() => {}); // Callers of `ready` are told.
  }

  /** Calls and openings that go on: meanwhile it is not idle. */
  get idleMs(): number {
    return this.#running > 0 ? 0 : this.#now() - this.#lastActiveAt;
  }

  /** Resolves when it has ended, and its environment is closed; undefined where its end could not be written. */
  get ended(): Promise<SessionEnd | undefined> {
    return this.#seat.ended;
  }

  get isOver(): boolean {
    return this.#seat.isOver;
  }

  /** Its client was heard of. */
  touch(): void {
    this.#lastActiveAt = this.#now();
  }

  /** Waits until its scenario is set up. @throws as `OpenSeat.open`. */
  async ready(): Promise<AgentTurn> {
    return await this.#busy(() => this.#opening);
  }

  /** The tools that its agent may call, `submit_answer` at the end. @throws as `ready`. */
  async tools(): Promise<readonly AgentTool[]> {
    const { tools, setup } = await this.ready();
    return [...tools, toAnswerTool(setup.answer_schema)];
  }

  /**
   * Calls a tool of the agent, or submits the answer; a client that goes away aborts nothing.
   *
   * @param signal aborted when the client gives the call up; an answer is evaluated all the same. Default: never.
   * @throws as `ready`.
   */
  async call(name: string, args: JsonObject, signal = new AbortController().signal): Promise<CallOutcome> {
    return await this.#busy(async () => {
      const turn = await this.#opening;
      if (name === SUBMIT_ANSWER) return await this.#submit(turn, args);
      const tool = turn.tools.find((each) => each.name === name);
      if (tool === undefined) return { kind: 'refused', why: 'tool_not_found', message: unknownTool(name, turn) };
      if (this.isOver) return await this.#over();
      if (isTooDeep(args, MAX_INPUT_DEPTH)) return tooDeep(name);
      const result = await this.#seat.agent.call(name, args, signal);
      if (!this.#seat.agent.isOver || this.#seat.agent.submitted !== undefined) return toAnswered(tool, args, result);
      // Its last call, or one that took the environment with it.
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
    const { answer } = parsed.value as { readonly answer: Parameters<OpenSeat['submit']>[0] }; // As its schema says.
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

  async #busy<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.touch();
    }
  }
}

/** `submit_answer` as clients list it. @param schema of the answer; null for a text. */
export function toAnswerTool(schema: JsonSchema | null): AgentTool {
  const { name, description, input } = createAnswerTool(schema, () => false);
  return { name, description: description ?? '', input_schema: input.jsonSchema };
}

/** The environment has checked the arguments, and the trace has what it said; the protocols tell such a fault apart. */
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
