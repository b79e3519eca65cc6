import type { JsonObject } from '../../../contract/json.ts';
import type { DialectError, DialectRequest, DialectStream, ReplyHead } from '../dialect.ts';
import { dataFrame } from '../event-frames.ts';
import type { ModelDelta, ModelOutput } from '../model-output.ts';
import { SentText } from '../sent-text.ts';
import { callParts, chunkOf, lastChunk, toGeminiError } from './write-gemini.ts';

/** A streamed answer of Gemini. Its pieces have the format of a whole answer, and the last one has `finishReason`. */
export class GeminiEventStream implements DialectStream {
  readonly #request: DialectRequest;
  #head: ReplyHead;
  readonly #sent = new SentText();
  #output: ModelOutput | undefined;

  constructor(request: DialectRequest, head: ReplyHead) {
    this.#request = request;
    this.#head = head;
  }

  delta(delta: ModelDelta): string {
    return this.#sent
      .take(delta)
      .map(({ field, text }) => chunkOf([field === 'reasoning' ? { text, thought: true } : { text }], this.#head))
      .map(dataFrame)
      .join('');
  }

  /** Has an empty line after it, because Google's client otherwise drops the event that follows a comment. */
  keepAlive(): string {
    return ': keep-alive\n\n';
  }

  complete(output: ModelOutput, extra?: JsonObject): string {
    this.#output = output;
    this.#head = { ...this.#head, extra: { ...this.#head.extra, ...extra } };
    const calls = callParts(output, this.#request);
    return (
      this.delta(this.#sent.rest(output.message)) + (calls.length > 0 ? dataFrame(chunkOf(calls, this.#head)) : '')
    );
  }

  end(): string {
    if (this.#output === undefined) throw new TypeError('A stream ends after its answer is complete');
    return dataFrame(lastChunk([{ text: '' }], this.#output, this.#head));
  }

  fail(error: DialectError): string {
    return dataFrame(toGeminiError(error));
  }
}
