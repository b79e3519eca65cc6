import type { JsonObject } from '../../../contract/json.ts';
import { toOneLine } from '../../../support/text/one-line-json.ts';
import type { DialectError, DialectRequest, DialectStream, ReplyHead } from '../dialect.ts';
import { dataFrame } from '../event-frames.ts';
import type { ModelDelta, ModelOutput } from '../model-output.ts';
import { SentText } from '../sent-text.ts';
import { chatHead, toChatCall, toChatUsage, toOpenAiError } from './write-chat.ts';

/**
 * A streamed answer of chat completions. Calls are sent in one piece. The chunk with `finish_reason` is part of the
 * end.
 */
export class ChatEventStream implements DialectStream {
  readonly #request: DialectRequest;
  #head: JsonObject;
  readonly #before: string;
  readonly #after: string;
  readonly #sent = new SentText();
  #hasRole = false;
  #output: ModelOutput | undefined;

  constructor(request: DialectRequest, head: ReplyHead) {
    this.#request = request;
    this.#head = chatHead(head, 'chat.completion.chunk');
    // Serialized once, so that a delta costs little more than its text.
    this.#before = `data: ${toOneLine(this.#head).slice(0, -1)},"choices":[{"index":0,"delta":`;
    this.#after = `,"logprobs":null,"finish_reason":null}]${request.wantsUsage ? ',"usage":null' : ''}}\n\n`;
  }

  delta(delta: ModelDelta): string {
    const pieces = this.#sent.take(delta);
    return pieces.map(({ field, text }) => this.#chunk({ [WIRE_FIELDS[field]]: text })).join('');
  }

  keepAlive(): string {
    return ': keep-alive\n\n';
  }

  note(extra?: JsonObject): string {
    if (extra === undefined) return this.#role();
    const piece = { index: 0, delta: {}, logprobs: null, finish_reason: null };
    const usage = this.#request.wantsUsage ? { usage: null } : {};
    return this.#role() + dataFrame({ ...this.#head, choices: [piece], ...usage, ...extra });
  }

  complete(output: ModelOutput, extra: JsonObject = {}): string {
    this.#output = output;
    this.#head = { ...this.#head, ...extra };
    const { message } = output;
    const calls = message.tool_calls.map((call, index) =>
      this.#chunk({ tool_calls: [{ index, ...toChatCall(call, this.#request) }] }),
    );
    return this.delta(this.#sent.rest(message)) + calls.join('');
  }

  end(): string {
    if (this.#output === undefined) throw new TypeError('A stream ends after its answer is complete');
    const { finishReason, usage, logprobs } = this.#output;
    const { wantsUsage, body } = this.#request;
    const last = {
      index: 0,
      delta: {},
      logprobs: body.logprobs === true ? logprobs : null,
      finish_reason: finishReason,
    };
    const finish = dataFrame({ ...this.#head, choices: [last], ...(wantsUsage ? { usage: null } : {}) });
    const total = wantsUsage ? dataFrame({ ...this.#head, choices: [], usage: toChatUsage(usage) }) : '';
    return `${this.#role()}${finish}${total}data: [DONE]\n\n`;
  }

  fail(error: DialectError): string {
    return dataFrame(toOpenAiError(error));
  }

  #chunk(delta: JsonObject): string {
    return `${this.#role()}${this.#before}${toOneLine(delta)}${this.#after}`;
  }

  /** The chunk with the role, which comes before all others. */
  #role(): string {
    if (this.#hasRole) return '';
    this.#hasRole = true;
    return `${this.#before}{"role":"assistant","content":""}${this.#after}`;
  }
}

const WIRE_FIELDS = { reasoning: 'reasoning_content', content: 'content', refusal: 'refusal' } as const;
