import { randomBytes } from 'node:crypto';
import type { AssistantMessage, ToolCall } from '../../contract/chat.ts';
import { BoundaryError } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import { isTooDeep, MAX_INPUT_DEPTH } from '../../contract/json-depth.ts';
import { OUTSIDE_STEPS } from '../../contract/names.ts';
import { sizeOf } from '../../contract/service/page-budget.ts';
import type { ToolResult } from '../../environment/client/environment-client.ts';
import { toErrorResult } from '../../environment/client/mcp-tools.ts';
import { NO_USAGE } from '../../models/dialects/model-output.ts';
import { untilAborted } from '../../support/runtime/deadline.ts';
import type { Agent, AgentTurn } from '../session/agent.ts';
import { answerToolCalls } from '../session/tool-calls.ts';
import { withUser } from '../session/user/message-user.ts';

/**
 * Bytes of the arguments of all calls as JSON. The trace stores them, and no token limit of a model bounds them here.
 */
export const MAX_ARGUMENT_BYTES = 32 * 1_024 * 1_024;

type TurnStatus = 'answered' | 'max_steps';

export interface SeatAgentOptions {
  /** True if the model calls go through the seat. `max_steps` counts those then, and tool calls are not limited. */
  readonly hasModel?: boolean;
  /**
   * True records each call as a step: a response with this call and no usage. Default false: calls are outside of
   * steps.
   */
  readonly hasCallSteps?: boolean | undefined;
}

/** The step in which a model requested a call, and the id of that call. */
export interface CallOrigin {
  readonly step: number;
  readonly id: string;
}

/**
 * An outside agent. It calls tools as any MCP client does, until it answers or has used up its calls. Concurrent calls
 * run concurrently. Each call is stored before the agent gets its result.
 */
export class SeatAgent implements Agent {
  readonly playsOnce = true;
  /** Resolves with the turn once the agent may call tools. Never rejects, and stays pending if setup fails. */
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
    this.#over.catch(() => {}); // The turn gets the error.
  }

  /** True after the answer or any other end of the turn. Calls are refused from then on. */
  get isOver(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Aborted at the end of the turn. */
  get over(): AbortSignal {
    return this.#ending.signal;
  }

  /** The submitted answer; undefined without one. The last text counts then, if the model's texts are known. */
  get submitted(): Json | undefined {
    return this.#submitted;
  }

  /** Last text of the model in the main conversation; null if nothing in it could be an answer. */
  get lastText(): string | null {
    const { progress, transcript } = this.#turn ?? {};
    const isSaid = progress?.responses.some(
      ({ message }) => message.tool_calls.length === 0 || message.content?.trim(),
    );
    return isSaid ? (transcript?.lastAssistantText() ?? null) : null;
  }

  /** Number of tool calls in progress. */
  get running(): number {
    return this.#running.size;
  }

  async takeTurn(turn: AgentTurn): Promise<TurnStatus> {
    this.#turn = turn;
    const [played] = await Promise.allSettled([this.#play(turn)]);
    this.#ending.abort(OVER);
    // Wait for the calls that came before the answer. An aborted turn aborts its calls, too.
    await Promise.allSettled(this.#running);
    const faults = await Promise.all(this.#whenOver.map((work) => work()));
    const fault = faults.find((each) => each !== undefined);
    if (fault !== undefined) throw fault;
    if (played.status === 'rejected') throw played.reason;
    return played.value;
  }

  /** Adds work for the end of the turn, while events can still be recorded. An error that it returns fails the turn. */
  onOver(work: () => Promise<BoundaryError | undefined>): void {
    this.#whenOver.push(work);
  }

  /**
   * Calls a tool.
   *
   * @param signal aborted when the client cancels the call.
   * @param asked the request of the agent's model for this call, if any.
   * @returns the result; an error result for the agent once the run has ended.
   */
  async call(name: string, args: JsonObject, signal: AbortSignal, asked?: CallOrigin): Promise<ToolResult> {
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

  /** Ends the turn with an answer. @returns false if it was over already. */
  answer(answer: Json): boolean {
    if (this.isOver) return false;
    this.#submitted = answer;
    return this.end('answered');
  }

  /** Ends the turn as it is: `answered` submits the last text. @returns false if it was over already. */
  end(status: TurnStatus): boolean {
    if (this.isOver) return false;
    this.#ending.abort(OVER);
    this.#finish(status);
    return true;
  }

  /** Fails the turn. @returns false if it was over already. */
  fail(cause: BoundaryError): boolean {
    if (this.isOver) return false;
    this.#fail(cause);
    this.#ending.abort(OVER);
    return true;
  }

  async #play(turn: AgentTurn): Promise<TurnStatus> {
    // The trace records the open seat before any caller learns of it.
    await turn.recorder.settled();
    this.#begin(turn);
    return await untilAborted(this.#over, turn.signal);
  }

  async #run(turn: AgentTurn, { name, args, signal, asked }: CallInput): Promise<ToolResult> {
    const id = asked?.id ?? `call_${randomBytes(8).toString('hex')}`;
    const call = { id, name, ...toKept(args) };
    const { answered, interruption } = await answerToolCalls([call], {
      ...turn,
      client: withUser(turn),
      step: asked?.step ?? (this.#hasCallSteps ? recordStep(turn, call) : OUTSIDE_STEPS),
      finishReason: 'tool_calls',
      signal: AbortSignal.any([turn.signal, signal]),
    });
    // A call that its client cancelled ends only itself.
    if (interruption?.thrown instanceof BoundaryError) this.#fail(interruption.thrown);
    await turn.recorder.settled();
    return answered[0]?.result ?? toErrorResult('The call was not run.');
  }
}

/** Shared by all turns, because making an error is slow. */
const OVER = new Error('The turn of the agent is over');

/** Records a step that has only this call, because the model is elsewhere. @returns the number of the step. */
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

/** Arguments that are nested too deeply are kept as raw text, as in any run. */
function toKept(args: JsonObject): Pick<ToolCall, 'arguments' | 'raw_arguments'> {
  if (!isTooDeep(args, MAX_INPUT_DEPTH)) return { arguments: args, raw_arguments: null };
  return { arguments: {}, raw_arguments: JSON.stringify(args) };
}

interface CallInput {
  readonly name: string;
  readonly args: JsonObject;
  readonly signal: AbortSignal;
  readonly asked: CallOrigin | undefined;
}
