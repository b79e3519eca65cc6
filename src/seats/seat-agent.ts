import { randomBytes } from 'node:crypto';
import type { ToolResult } from '../client/environment-client.ts';
import { toErrorResult } from '../client/mcp-tools.ts';
import type { ToolCall } from '../contract/chat.ts';
import { BoundaryError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import { isTooDeep, MAX_INPUT_DEPTH } from '../contract/json-depth.ts';
import { OUTSIDE_STEPS } from '../contract/names.ts';
import { sizeOf } from '../contract/page-budget.ts';
import type { Agent, AgentTurn } from '../rollout/agent.ts';
import { answerToolCalls } from '../rollout/tool-calls.ts';
import { untilAborted } from '../runtime/deadline.ts';

/** Bytes, as JSON, of the arguments of all calls: the trace keeps them, and no model's limit of tokens bounds them here. */
const MAX_ARGUMENT_BYTES = 32 * 1_024 * 1_024;

type TurnStatus = 'answered' | 'max_steps';

/**
 * An agent that sits somewhere else: it calls tools when it likes, as any client of an MCP server does, until it has
 * answered or used up its calls. Calls that come together run together. Each is durable before the agent has its result.
 */
export class SeatAgent implements Agent {
  /** Resolves once it may call. It never rejects, and stays open where setup fails. */
  readonly begun: Promise<void>;
  readonly #over: Promise<TurnStatus>;
  readonly #running = new Set<Promise<ToolResult>>();
  #turn: AgentTurn | undefined;
  #isOver = false;
  #calls = 0;
  #argumentBytes = 0;
  #runningSince = 0;
  #begin: () => void = () => {};
  #finish: (status: TurnStatus) => void = () => {};
  #fail: (cause: BoundaryError) => void = () => {};

  constructor() {
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
    return this.#isOver;
  }

  async takeTurn(turn: AgentTurn): Promise<TurnStatus> {
    this.#turn = turn;
    try {
      // The trace says that the seat is open before anybody is told so.
      await turn.recorder.settled();
      this.#begin();
      return await untilAborted(this.#over, turn.signal);
    } finally {
      this.#isOver = true;
      // Calls that came before the answer are served first; those of a turn that was aborted are aborted with it.
      await Promise.allSettled(this.#running);
    }
  }

  /**
   * Calls a tool.
   *
   * @param signal aborted when the client gives the call up.
   * @returns its result; an error that the agent may read where nothing could be called any more.
   */
  async call(name: string, args: JsonObject, signal: AbortSignal): Promise<ToolResult> {
    const turn = this.#turn;
    if (turn === undefined || this.#isOver) return toErrorResult('The run has ended: no tool can be called any more.');
    if (this.#calls >= turn.maxSteps) {
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
    const running = this.#run(turn, { name, args, signal });
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
      if (this.#running.size === 0) turn.progress.toolMs += performance.now() - this.#runningSince;
      if (this.#calls >= turn.maxSteps && this.#running.size === 0) this.#end('max_steps');
    }
  }

  /** Ends the turn with an answer. @returns false where it was over already. */
  answer(): boolean {
    return this.#end('answered');
  }

  #end(status: TurnStatus): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#finish(status);
    return true;
  }

  async #run(turn: AgentTurn, { name, args, signal }: Called): Promise<ToolResult> {
    const id = `call_${randomBytes(8).toString('hex')}`;
    const call = { id, name, ...toKept(args) };
    const { answered, interruption } = await answerToolCalls([call], {
      ...turn,
      step: OUTSIDE_STEPS,
      finishReason: 'tool_calls',
      signal: AbortSignal.any([turn.signal, signal]),
    });
    // One that its client gave up has ended nothing but itself.
    if (interruption?.thrown instanceof BoundaryError) this.#fail(interruption.thrown);
    await turn.recorder.settled();
    return answered[0]?.result ?? toErrorResult('The call was not run.');
  }
}

/** As of any run: arguments that nobody could read are kept as the text that came, and the agent is told. */
function toKept(args: JsonObject): Pick<ToolCall, 'arguments' | 'raw_arguments'> {
  if (!isTooDeep(args, MAX_INPUT_DEPTH)) return { arguments: args, raw_arguments: null };
  return { arguments: {}, raw_arguments: JSON.stringify(args) };
}

interface Called {
  readonly name: string;
  readonly args: JsonObject;
  readonly signal: AbortSignal;
}
