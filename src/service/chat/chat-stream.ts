import { readableText } from '../../contract/content-text.ts';
import type { ApiError } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { EventBody } from '../../contract/service/event.ts';
import { cutToolText } from '../../models/dialects/chat/transcript-to-chat.ts';
import { type DialectStream, toDialectError } from '../../models/dialects/dialect.ts';
import type { ModelDelta } from '../../models/gateway/chat-model.ts';
import { TextStream } from '../../support/http/text-stream.ts';
import { TEXT_SEPARATOR, type TurnReply } from './answered-turn.ts';

export interface ChatStreamOptions {
  /** Writes the chunks in the format of a protocol. */
  readonly stream: DialectStream;
  readonly sessionId: string;
  /** Sends `svc.event` for tool calls and results, if the protocol allows such events. */
  readonly hasEvents: boolean;
}

/** A streamed reply to a turn. The texts of its responses become one text. An error ends the stream. */
export class ChatStream {
  readonly text = new TextStream();
  /** Resolves at the first chunk. From then on the reply is a stream. */
  readonly begun: Promise<void>;
  readonly #options: ChatStreamOptions;
  #resolveBegun: () => void = () => {};
  #hasBegun = false;
  #isEnded = false;
  /** Characters sent of the current response; `#hasText` says whether an earlier response sent text. */
  #sent = 0;
  #hasText = false;

  constructor(options: ChatStreamOptions) {
    this.#options = options;
    this.begun = new Promise((resolve) => {
      this.#resolveBegun = resolve;
    });
  }

  /** False while a failure can still become a JSON error. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Sends a text delta of the model. */
  delta(delta: ModelDelta): void {
    const { content = '' } = delta;
    const isNext = content !== '' && this.#sent === 0 && this.#hasText;
    this.#sent += content.length;
    this.#hasText ||= content !== '';
    this.#push(this.#options.stream.delta(isNext ? { ...delta, content: `${TEXT_SEPARATOR}${content}` } : delta));
  }

  /** Handles an event of the turn. */
  event(event: EventBody): void {
    if (event.type === 'model.requested') {
      this.#sent = 0;
    } else if (event.type === 'tool.called') {
      const { tool_call_id: id, name, arguments: args } = event;
      this.#note({ type: 'tool_call', id, name, arguments: args });
    } else if (event.type === 'tool.responded') {
      const { tool_call_id: id, name, content, is_error, duration_ms } = event;
      const text = cutToolText(readableText(content));
      this.#note({ type: 'tool_result', id, name, text, is_error, duration_ms });
    }
  }

  /** Sends a keep-alive comment. Before the first chunk this commits the reply to be a stream. */
  keepAlive(): void {
    if (!this.#isEnded) this.#push(this.#options.stream.keepAlive());
  }

  /** Ends the stream with the turn's answer. */
  finish({ output, svc }: TurnReply): void {
    const { stream } = this.#options;
    this.#push(stream.complete(output, { svc: { ...svc } }) + stream.end());
    this.#end();
  }

  /** Ends the stream with an error. */
  fail(error: ApiError): void {
    this.#push(this.#options.stream.fail(toDialectError(error)));
    this.#end();
  }

  #note(event: JsonObject): void {
    const { stream, sessionId, hasEvents } = this.#options;
    const extra = hasEvents ? { svc: { session_id: sessionId, event } } : undefined;
    this.#push(stream.note === undefined ? stream.keepAlive() : stream.note(extra));
  }

  #push(text: string): void {
    if (text === '') return;
    this.#begin();
    this.text.push(text);
  }

  #begin(): void {
    this.#hasBegun = true;
    this.#resolveBegun();
  }

  #end(): void {
    this.#isEnded = true;
    this.#begin();
    this.text.end();
  }
}
