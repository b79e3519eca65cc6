import { randomBytes } from 'node:crypto';
import type { ToolResult } from '../client/environment-client.ts';
import { toErrorResult } from '../client/mcp-tools.ts';
import type { AssistantMessage, ToolCall, Usage } from '../contract/chat.ts';
import { BoundaryError } from '../contract/errors.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import { isTooDeep, MAX_INPUT_DEPTH } from '../contract/json-depth.ts';
import { OUTSIDE_STEPS } from '../contract/names.ts';
import { sizeOf } from '../contract/page-budget.ts';
import type { Agent, AgentTurn } from '../rollout/agent.ts';
import { withUser } from '../rollout/message-user.ts';
import { answerToolCalls } from '../rollout/tool-calls.ts';
import { untilAborted } from '../runtime/deadline.ts';

/** Bytes, as JSON, of the arguments of all calls: the trace keeps them, and no model's limit of tokens bounds them here. */
const MAX_ARGUMENT_BYTES = 32 * 1_024 * 1_024;

type TurnStatus = 'answered' | 'max_steps';

export interface SeatAgentOptions {
  /** True: `max_steps` is of its model calls, which are counted elsewhere, and it may call tools as often as it likes. */
  readonly hasModel?: boolean;
  /** True: each call is recorded as a step, a response with this call and no usage. Default false: calls are outside of steps. */
  readonly hasCallSteps?: boolean | undefined;
}

/** The step of a model that asked for a call, and the call's id there. */
export interface AskedCall {
  readonly step: number;
  readonly id: string;
}

/**
 * An agent that sits somewhere else: it calls tools when it likes, as any client of an MCP server does, until it has
 * answered or used up its calls. Calls that come together run together. Each is durable before the agent has its result.
 */
export class SeatAgent implements Agent {
  readonly playsOnce = true;
  /** Resolves, with its turn, once it may call. It never rejects, and stays open where setup fails. */
  readonly begun: Promise<AgentTurn>;
  readonly #countsCalls: boolean;
  readonly #hasCallSteps: boolean;
  readonly #over: Promise<TurnStatus>;
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<ToolResult>>();
  readonly #whenOver: (() => Promise<BoundaryError | undefined>)[] = [];
  #turn: AgentTurn | undefined;
  #submitted: Json | undefined;
  #calls = 0;
  #argumentBytes = 0;
  #runningSince = 0;
  #begin: (turn: AgentTurn) => void = () => {};
  #finish: (status: TurnStatus) => void = () => {};
  #fail: (cause: BoundaryError) => void = () => {};

  constructor({ hasModel = false, hasCallSteps = false }: SeatAgentOptions = {}) {
    this.#countsCalls = !hasModel;
    this.#hasCallSteps = hasCallSteps;
    this.begun = new Promise((resolve) => {
      this.#begin = resolve;
    });
    this.#over = new Promise((resolve, reject) => {
      this.#finish = resolve;
      this.#fail = reject;
    });
    this.#over.catch(() => {}); // The turn hears of it.
  }

  /** True from the answer on, or from whatever else has ended its turn: nothing is taken any more. */
  get isOver(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Aborted once nothing is taken any more. */
  get over(): AbortSignal {
    return this.#ending.signal;
  }

  /** The answer that was submitted; undefined without one: then its last text counts, where a model's texts are seen. */
  get submitted(): Json | undefined {
    return this.#submitted;
  }

  /** The last text of its model in the main conversation; null where nothing was seen that could be an answer. */
  get lastText(): string | null {
    const { progress, transcript } = this.#turn ?? {};
    const isSaid = progress?.responses.some(
      ({ message }) => message.tool_calls.length === 0 || message.content?.trim(),
    );
    return isSaid ? (transcript?.lastAssistantText() ?? null) : null;
  }

  /** Tool calls that go on. */
  get running(): number {
    return this.#running.size;
  }

  async takeTurn(turn: AgentTurn): Promise<TurnStatus> {
    this.#turn = turn;
    const [played] = await Promise.allSettled([this.#play(turn)]);
    this.#ending.abort(OVER);
    // Calls that came before the answer are served first; those of a turn that was aborted are aborted with it.
    await Promise.allSettled(this.#running);
    const faults = await Promise.all(this.#whenOver.map((work) => work()));
    const fault = faults.find((each) => each !== undefined);
    if (fault !== undefined) throw fault;
    if (played.status === 'rejected') throw played.reason;
    return played.value;
  }

  /** Has something done at the end of the turn, while it can be recorded. What it returns fails the turn. */
  onOver(work: () => Promise<BoundaryError | undefined>): void {
    this.#whenOver.push(work);
  }

  /**
   * Calls a tool.
   *
   * @param signal aborted when the client gives the call up.
   * @param asked where the agent's model has asked for it.
   * @returns its result; an error that the agent may read where nothing could be called any more.
   */
  async call(name: string, args: JsonObject, signal: AbortSignal, asked?: AskedCall): Promise<ToolResult> {
    const turn = this.#turn;
    if (turn === undefined || this.isOver) return toErrorResult('The run has ended: no tool can be called any more.');
    if (this.#countsCalls && this.#calls >= turn.maxSteps) {
      return toErrorResult(`All ${turn.maxSteps} tool calls of this run are used up: it is being evaluated.`);
    }
    const bytes = sizeOf(args);
    if (this.#argumentBytes + bytes > MAX_ARGUMENT_BYTES) {
      return toErrorResult(
        `The call of ${name} was not run: its arguments are ${bytes} bytes, and all calls of a run may have ${MAX_ARGUMENT_BYTES}, of which ${MAX_ARGUMENT_BYTES - this.#argumentBytes} are left. Send shorter ones.`,
      );
    }
    this.#argumentBytes += bytes;
    this.#calls += 1;
    if (this.#running.size === 0) this.#runningSince = performance.now();
    const running = this.#run(turn, { name, args, signal, asked });
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
      if (this.#running.size === 0) turn.progress.toolMs += performance.now() - this.#runningSince;
      if (this.#countsCalls && this.#calls >= turn.maxSteps && this.#running.size === 0) this.end('max_steps');
    }
  }

  /** Ends the turn with an answer. @returns false where it was over already. */
  answer(answer: Json): boolean {
    if (this.isOver) return false;
    this.#submitted = answer;
    return this.end('answered');
  }

  /** Ends the turn as it stands: `answered` submits its last text. @returns false where it was over already. */
  end(status: TurnStatus): boolean {
    if (this.isOver) return false;
    this.#ending.abort(OVER);
    this.#finish(status);
    return true;
  }

  /** Fails the turn. @returns false where it was over already. */
  fail(cause: BoundaryError): boolean {
    if (this.isOver) return false;
    this.#fail(cause);
    this.#ending.abort(OVER);
    return true;
  }

  async #play(turn: AgentTurn): Promise<TurnStatus> {
    // The trace says that the seat is open before anybody is told so.
    await turn.recorder.settled();
    this.#begin(turn);
    return await untilAborted(this.#over, turn.signal);
  }

  async #run(turn: AgentTurn, { name, args, signal, asked }: Called): Promise<ToolResult> {
    const id = asked?.id ?? `call_${randomBytes(8).toString('hex')}`;
    const call = { id, name, ...toKept(args) };
    const { answered, interruption } = await answerToolCalls([call], {
      ...turn,
      client: withUser(turn),
      step: asked?.step ?? (this.#hasCallSteps ? recordStep(turn, call) : OUTSIDE_STEPS),
      finishReason: 'tool_calls',
      signal: AbortSignal.any([turn.signal, signal]),
    });
    // One that its client gave up has ended nothing but itself.
    if (interruption?.thrown instanceof BoundaryError) this.#fail(interruption.thrown);
    await turn.recorder.settled();
    return answered[0]?.result ?? toErrorResult('The call was not run.');
  }
}

/** One for all: an error that is made takes longer than to end by it. */
const OVER = new Error('The turn of the agent is over');

/** The step of a call whose model is elsewhere: it has the call alone. @returns its number. */
function recordStep({ turn, stepsBefore, progress, recorder }: AgentTurn, call: ToolCall): number {
  const message: AssistantMessage = { role: 'assistant', content: null, reasoning: null, tool_calls: [call] };
  const step = stepsBefore + progress.responses.length + 1;
  const response = { finishReason: 'tool_calls', usage: NO_USAGE, tokenIds: null, logprobs: null, retries: 0 } as const;
  progress.responses.push({ ...response, message });
  recorder.record({
    type: 'model.responded',
    turn,
    step,
    message,
    finish_reason: response.finishReason,
    usage: NO_USAGE,
    token_ids: null,
    logprobs: null,
    retries: 0,
    duration_ms: 0,
  });
  return step;
}

const NO_USAGE: Usage = {
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cost_usd: null,
};

/** As of any run: arguments that nobody could read are kept as the text that came, and the agent is told. */
function toKept(args: JsonObject): Pick<ToolCall, 'arguments' | 'raw_arguments'> {
  if (!isTooDeep(args, MAX_INPUT_DEPTH)) return { arguments: args, raw_arguments: null };
  return { arguments: {}, raw_arguments: JSON.stringify(args) };
}

interface Called {
  readonly name: string;
  readonly args: JsonObject;
  readonly signal: AbortSignal;
  readonly asked: AskedCall | undefined;
}
