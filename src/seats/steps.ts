import type { JsonObject } from '../contract/json.ts';
import type { DialectName } from '../dialects/dialect.ts';
import type { ModelResponse } from '../model/chat-model.ts';
import type { AgentTurn } from '../rollout/agent.ts';
import type { Place } from './conversations.ts';

/** Bytes, as JSON, of the messages and tools that the trace keeps of all requests; beyond it they are left out. */
const MAX_INPUT_BYTES = 64 * 1_024 * 1_024;

/** A model call that goes on. */
export interface BegunStep {
  readonly step: number;
  readonly place: Place;
  readonly startedAt: number;
}

/** The model calls of an agent as steps of its trace: numbers them, counts those of the main conversation, and records them. */
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

  /** Calls of the main conversation that were answered or go on. */
  get main(): number {
    return this.#main;
  }

  /** Calls beside it. */
  get branches(): number {
    return this.#branches;
  }

  get isMainAsking(): boolean {
    return [...this.#open].some(({ place }) => place.branch === null);
  }

  /** Records a request, and takes a number for it. @throws what the recorder failed with. */
  async begin(place: Place, asked: { readonly dialect: DialectName; readonly model: string }): Promise<BegunStep> {
    const { recorder, turn, stepsBefore } = this.#turn;
    this.#count(place, 1);
    this.#last += 1;
    const begun = { step: stepsBefore + this.#last, place, startedAt: performance.now() };
    this.#open.add(begun);
    const { branch, compacted } = place;
    const kept = this.#toKept(place);
    const stored = await recorder.toStored(kept);
    recorder.record({
      type: 'model.requested',
      turn,
      step: begun.step,
      branch,
      compacted,
      input: { ...asked, messages: [], ...stored },
    });
    return begun;
  }

  /** Records a response. The caller waits until it is written. */
  answered(begun: BegunStep, response: ModelResponse): void {
    const { recorder, turn, progress, transcript } = this.#turn;
    this.#open.delete(begun);
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

  /** Records that no response came: its number is free again where none was taken since. */
  failed(
    begun: BegunStep,
    failure: { readonly code: string; readonly message: string; readonly status: number },
  ): void {
    const { recorder, turn, stepsBefore } = this.#turn;
    this.#open.delete(begun);
    this.#count(begun.place, -1);
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

  /** What is sent over JSON is JSON, although its types say less. */
  #toKept({ added, tools }: Place): JsonObject {
    const kept = { messages: added, ...(tools === undefined ? {} : { tools }) } as unknown as JsonObject;
    this.#inputBytes += Buffer.byteLength(JSON.stringify(kept));
    return this.#inputBytes > MAX_INPUT_BYTES ? { messages: [] } : kept;
  }
}
