import type { JsonObject } from '../../contract/json.ts';
import type { StepInput } from '../../contract/service/trace.ts';
import type { DialectName } from '../../models/dialects/dialect.ts';
import type { ModelResponse } from '../../models/gateway/chat-model.ts';
import type { AgentTurn } from '../session/agent.ts';
import type { Place } from './model-endpoint/conversations.ts';

/** Limit in bytes (as JSON) for the messages and tools of all requests in a trace. Later ones are left out. */
const MAX_INPUT_BYTES = 64 * 1_024 * 1_024;

/** A model call in progress. */
export interface BegunStep {
  readonly step: number;
  readonly place: Place;
  readonly startedAt: number;
  /**
   * Records the request once. The caller does so late, so that a database write does not delay the first streamed
   * piece.
   */
  record(): void;
}

/**
 * Numbers the model calls of an agent as steps of its trace, counts those of the main conversation, and records them.
 */
export class Steps {
  readonly #turn: AgentTurn;
  #last = 0;
  #main = 0;
  #branches = 0;
  #inputBytes = 0;
  readonly #open = new Set<BegunStep>();

  constructor(turn: AgentTurn) {
    this.#turn = turn;
  }

  /** Number of calls in the main conversation, answered or in progress. */
  get main(): number {
    return this.#main;
  }

  /** Number of calls in side conversations. */
  get branches(): number {
    return this.#branches;
  }

  get isMainAsking(): boolean {
    return [...this.#open].some(({ place }) => place.branch === null);
  }

  /** Takes a number for a request, which is recorded later. @throws the error with which the recorder failed. */
  async begin(place: Place, asked: { readonly dialect: DialectName; readonly model: string }): Promise<BegunStep> {
    const { recorder, turn, stepsBefore } = this.#turn;
    this.#count(place, 1);
    this.#last += 1;
    const { branch, compacted } = place;
    const step = stepsBefore + this.#last;
    let input: StepInput = { ...asked, messages: [] };
    let isRecorded = false;
    const record = () => {
      if (isRecorded) return;
      isRecorded = true;
      recorder.record({ type: 'model.requested', turn, step, branch, compacted, input });
    };
    const begun = { step, place, startedAt: performance.now(), record };
    // Before the first `await`, so that the next call sees this one.
    this.#open.add(begun);
    try {
      input = { ...input, ...(await recorder.toStored(this.#toKept(place))) };
    } catch (thrown) {
      this.#open.delete(begun);
      throw thrown;
    }
    return begun;
  }

  /** Records a response. The caller waits until it is stored. */
  answered(begun: BegunStep, response: ModelResponse): void {
    const { recorder, turn, progress, transcript } = this.#turn;
    this.#open.delete(begun);
    begun.record();
    const { message, finishReason, usage, tokenIds, logprobs, retries } = response;
    recorder.record({
      type: 'model.responded',
      turn,
      step: begun.step,
      message,
      finish_reason: finishReason,
      usage,
      token_ids: tokenIds,
      logprobs,
      retries,
      duration_ms: Math.round(performance.now() - begun.startedAt),
    });
    if (begun.place.branch !== null) return;
    progress.responses.push(response);
    transcript.addResponse(message);
  }

  /** Records a call without a response. Its number is reused if no later one was taken. */
  failed(
    begun: BegunStep,
    failure: { readonly code: string; readonly message: string; readonly status: number },
  ): void {
    const { recorder, turn, stepsBefore } = this.#turn;
    this.#open.delete(begun);
    this.#count(begun.place, -1);
    begun.record();
    if (begun.step === stepsBefore + this.#last) this.#last -= 1;
    recorder.record({
      type: 'model.failed',
      turn,
      step: begun.step,
      branch: begun.place.branch,
      ...failure,
      duration_ms: Math.round(performance.now() - begun.startedAt),
    });
  }

  #count({ branch }: Place, by: number): void {
    if (branch === null) this.#main += by;
    else this.#branches += by;
  }

  /** Messages that were parsed from JSON are JSON, although their types are wider. */
  #toKept({ added, tools }: Place): JsonObject {
    const kept = { messages: added, ...(tools === undefined ? {} : { tools }) } as unknown as JsonObject;
    this.#inputBytes += Buffer.byteLength(JSON.stringify(kept));
    return this.#inputBytes > MAX_INPUT_BYTES ? { messages: [] } : kept;
  }
}
