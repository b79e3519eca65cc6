import { randomBytes } from 'node:crypto';
import { ApiError, BoundaryError, messageOf } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { AgentToolEntry, ToolResult } from '../../../environment/client/environment-client.ts';
import {
  type Dialect,
  type DialectError,
  type DialectRequest,
  type DialectStream,
  type ReplyHead,
  toDialectError,
} from '../../../models/dialects/dialect.ts';
import type { AgentAnswer, AgentModel } from '../../../models/gateway/agent-call.ts';
import { AgentCallError } from '../../../models/gateway/agent-model.ts';
import { toApiError } from '../../../support/http/api/errors.ts';
import { endsWithin } from '../../../support/runtime/deadline.ts';
import { startKeepAlive } from '../../../support/runtime/keep-alive.ts';
import { during, setChatResponse, startChatSpan } from '../../../support/telemetry/spans.ts';
import type { AgentTurn } from '../../session/agent.ts';
import type { CallOrigin, SeatAgent } from '../seat-agent.ts';
import type { SeatTools } from '../seat-tools.ts';
import { type BegunStep, Steps } from '../steps.ts';
import { ToolsListedCheck } from '../tools-listed-check.ts';
import { CallMatcher } from './call-matcher.ts';
import { Conversations } from './conversations.ts';
import type { SharedResponse } from './shared-response.ts';

/** Calls of side conversations that are allowed for each step of the run. */
const BRANCH_STEPS = 10;
/** Milliseconds after the last allowed step in which its tool calls may arrive. */
const LAST_CALLS_MS = 30_000;
/** Milliseconds that a tool call waits for the model response that may request it. */
const ASKING_MS = 2_000;
/** Milliseconds until a call without any response is recorded. */
const RECORD_MS = 25;

export interface ModelCallsOptions {
  readonly agent: SeatAgent;
  readonly turn: AgentTurn;
  readonly model: AgentModel;
  readonly tools: SeatTools;
  readonly entries: readonly AgentToolEntry[];
  /** Milliseconds that the first model call waits for the tools to be listed. For tests. */
  readonly gateMs?: number | undefined;
  readonly lastCallsMs?: number | undefined;
}

/** A parsed request of an agent to its model. */
export interface ModelCall {
  readonly dialect: Dialect;
  readonly request: DialectRequest;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly requestId: string;
}

/** The model calls of one agent in its turn, and the tool calls that they ask for. */
export class ModelCalls {
  readonly gate: ToolsListedCheck;
  readonly #options: ModelCallsOptions;
  readonly #conversations = new Conversations();
  readonly #steps: Steps;
  readonly #ledger: CallMatcher;
  readonly #running = new Set<Promise<void>>();
  #agentName = '';
  #lastCalls: NodeJS.Timeout | undefined;

  constructor(options: ModelCallsOptions) {
    const { agent, turn, tools, entries, gateMs } = options;
    this.#options = options;
    this.gate = new ToolsListedCheck(tools, gateMs);
    this.#steps = new Steps(turn);
    const note = (entry: Parameters<ConstructorParameters<typeof CallMatcher>[0]['note']>[0]) =>
      turn.recorder.record({ type: 'ledger.noted', ...entry });
    this.#ledger = new CallMatcher({ tools, entries, note });
    agent.onOver(() => this.#end());
  }

  /** Makes a call and sends the answer to its clients. Never rejects. */
  async play(call: ModelCall, exchange: SharedResponse): Promise<void> {
    const playing = this.#play(call, exchange);
    this.#running.add(playing);
    await playing;
    this.#running.delete(playing);
  }

  /** Runs a tool call over MCP, as part of the model response that requested it if there is one. */
  async call(name: string, args: JsonObject, signal: AbortSignal): Promise<ToolResult> {
    clearTimeout(this.#lastCalls);
    const matched = this.#ledger.match(name, args) ?? (await this.#matchLater(name, args));
    const asked: CallOrigin | undefined = matched && { step: matched.step, id: matched.id };
    const ownId = `call_${randomBytes(8).toString('hex')}`;
    try {
      const { agent } = this.#options;
      const result = await agent.call(name, args, signal, asked ?? { step: 0, id: ownId });
      if (matched !== undefined) matched.returned(result);
      else if (!agent.isOver) this.#ledger.notAskedFor(ownId, name, args, result);
      return result;
    } finally {
      this.#endSoon();
    }
  }

  /** Records that the agent called `submit_answer`. */
  submitted(answer: JsonObject): void {
    this.#ledger.match('submit_answer', answer);
  }

  async #play(call: ModelCall, exchange: SharedResponse): Promise<void> {
    const { agent } = this.#options;
    const signal = AbortSignal.any([agent.over, exchange.abandoned]);
    const head: ReplyHead = {
      id: randomBytes(12).toString('hex'),
      createdAt: Date.now(),
      model: call.request.model ?? this.#options.model.name,
    };
    let stream: DialectStream | undefined;
    const onStream = (used: DialectStream) => {
      stream = used;
    };
    try {
      const step = await this.#begin(call, signal);
      const answer = await this.#ask(call, exchange, { step, head, signal, onStream });
      exchange.answer(answer.rest);
    } catch (thrown) {
      const error = this.#toError(thrown, call);
      const failing = () => (stream ?? call.dialect.createStream(call.request, head)).fail(error);
      exchange.fail(call.dialect.writeError(error), failing);
    }
  }

  /** Finds the conversation of a call, waits until the agent has listed its tools, and checks the limits. */
  async #begin({ request, headers }: ModelCall, signal: AbortSignal): Promise<BegunStep> {
    const { agent, turn, tools, model } = this.#options;
    this.#agentName ||= String(headers['user-agent'] ?? '');
    this.#ledger.reported(request);
    const hasTools = request.tools.length > 0;
    if (hasTools && !this.gate.isOpen) {
      try {
        await this.gate.pass(request, this.#agentName, signal);
      } catch (thrown) {
        if (thrown instanceof BoundaryError) agent.fail(thrown);
        throw thrown;
      }
    }
    signal.throwIfAborted();
    const isMain = hasTools ? tools.missingIn(request).length === 0 : tools.isEmpty;
    const place = this.#conversations.place(request, { isMain, isMainAsking: this.#steps.isMainAsking });
    if (place.branch === null && this.#steps.main >= turn.maxSteps) {
      agent.end('max_steps');
      throw usedUp(`All ${turn.maxSteps} model calls of this run are used up: it is being evaluated.`);
    }
    if (place.branch !== null && this.#steps.branches >= turn.maxSteps * BRANCH_STEPS) {
      throw usedUp(
        `All ${turn.maxSteps * BRANCH_STEPS} model calls beside the main conversation of this run are used up. The main conversation can go on.`,
      );
    }
    return await this.#steps.begin(place, { dialect: request.dialect, model: request.model ?? model.name });
  }

  /** Asks the model. The step is stored before the client gets the end of the answer. */
  async #ask(
    { dialect, request, headers }: ModelCall,
    exchange: SharedResponse,
    { step, head, signal, onStream }: Asking,
  ): Promise<AgentAnswer> {
    const { turn, model, agent } = this.#options;
    const { sampling, recorder, onDelta, onWait } = turn;
    const isMain = step.place.branch === null;
    let stream: DialectStream | undefined;
    const keepAlive = request.isStreamed
      ? startKeepAlive(() => exchange.send(stream?.keepAlive() ?? COMMENT))
      : undefined;
    const recordSoon = setTimeout(step.record, RECORD_MS);
    recordSoon.unref();
    let answer: AgentAnswer;
    try {
      answer = await during(startChatSpan(turn.span, model.name, sampling), async (span) => {
        let firstMs: number | undefined;
        const asked = await model.ask({
          dialect,
          request,
          head,
          headers,
          sampling,
          signal,
          onWait,
          onStream: (used) => {
            stream = used;
            onStream(used);
          },
          send: (piece) => {
            keepAlive?.refresh();
            exchange.send(piece);
            setImmediate(step.record);
          },
          onDelta: (delta) => {
            firstMs ??= performance.now() - step.startedAt;
            if (isMain && !signal.aborted) onDelta?.(delta);
          },
        });
        setChatResponse(span, asked.response, firstMs);
        return asked;
      });
      signal.throwIfAborted();
    } catch (thrown) {
      const { code, message, status } = this.#toError(thrown, { requestId: '' });
      this.#steps.failed(step, { code, message, status });
      if (thrown instanceof BoundaryError) agent.fail(thrown);
      throw thrown;
    } finally {
      keepAlive?.stop();
      clearTimeout(recordSoon);
    }
    const { message } = answer.response;
    this.#steps.answered(step, answer.response);
    const hasOwnCalls = this.#ledger.responded(step.step, step.place.branch, message, request);
    this.#conversations.answered(request, step.place, message, hasOwnCalls);
    await recorder.settled();
    this.#endSoon();
    return answer;
  }

  /** Matches again later: a fast agent calls a tool before it has the whole answer that requests it. */
  async #matchLater(name: string, args: JsonObject): Promise<ReturnType<CallMatcher['match']>> {
    if (this.#running.size === 0) return undefined;
    await endsWithin(Promise.all(this.#running), ASKING_MS);
    return this.#ledger.match(name, args);
  }

  /** Ends the turn after the last allowed step, once the agent has made no more tool calls for a while. */
  #endSoon(): void {
    const { agent, turn, lastCallsMs = LAST_CALLS_MS } = this.#options;
    clearTimeout(this.#lastCalls);
    if (agent.isOver || this.#steps.isMainAsking || this.#steps.main < turn.maxSteps) return;
    this.#lastCalls = setTimeout(() => {
      if (agent.running === 0) agent.end('max_steps');
    }, lastCallsMs);
    this.#lastCalls.unref();
  }

  /**
   * Ends the calls in progress, which are aborted by now. @returns the error if the run says nothing about its model.
   */
  async #end(): Promise<BoundaryError | undefined> {
    clearTimeout(this.#lastCalls);
    await Promise.all(this.#running);
    this.#ledger.end();
    const hasAsked = this.#steps.main + this.#steps.branches > 0;
    return hasAsked && !this.gate.isOpen ? this.gate.neverBegun(this.#agentName) : undefined;
  }

  #toError(thrown: unknown, { requestId }: Pick<ModelCall, 'requestId'>): DialectError {
    const { agent } = this.#options;
    const none = { param: null, headers: {} };
    if (thrown instanceof AgentCallError) {
      const { status, code, message, headers } = thrown;
      return { ...none, status, code, message, headers };
    }
    // The guard handles a gateway that asks for a pause; the run ends with this error.
    if (thrown instanceof BoundaryError) {
      return { ...none, status: 400, code: thrown.code, message: thrown.message };
    }
    if (agent.isOver) return toDialectError(runFinished());
    if (thrown instanceof ApiError) return toDialectError(thrown);
    if (thrown instanceof Error && thrown.message === 'The client hung up') {
      return { ...none, status: 499, code: 'client_hung_up', message: messageOf(thrown) };
    }
    return toDialectError(toApiError(thrown, requestId));
  }
}

export function runFinished(): ApiError {
  return new ApiError('run_finished', 'The run has ended: its model cannot be asked any more.');
}

interface Asking {
  readonly step: BegunStep;
  readonly head: ReplyHead;
  readonly signal: AbortSignal;
  onStream(stream: DialectStream): void;
}

/** An SSE comment, which all readers ignore. Some would take an empty event for a real one. */
const COMMENT = ': keep-alive\n';

/** A used-up limit of the run. Status 400 keeps clients from trying again. */
function usedUp(message: string): BoundaryError {
  return new BoundaryError('model', 'run_finished', message);
}
