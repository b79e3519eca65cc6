import type { ChatUsage } from '../contract/chat-completions.ts';
import { readableText } from '../contract/content-text.ts';
import type { ApiError } from '../contract/errors.ts';
import type { EventBody } from '../contract/event.ts';
import { cutToolText } from '../formats/openai-messages.ts';
import { TextStream } from '../http/text-stream.ts';
import type { ModelDelta } from '../model/chat-model.ts';
import { TEXT_SEPARATOR } from './answered-turn.ts';
import type { ChatCompletion, ReplyHead } from './chat-completion.ts';

export interface ChatStreamOptions {
  readonly head: ReplyHead;
  readonly sessionId: string;
  readonly includeUsage: boolean;
  /** Adds `svc.event` for tool calls and their results. */
  readonly hasEvents: boolean;
}

/**
 * The frames of a streamed reply, in the order that every client takes: a chunk with the role, content as it comes, one
 * chunk with `finish_reason`, the usage where it was asked for, `[DONE]`. Each chunk has `choices` and the session's id.
 * After a failure there is an error frame and nothing else.
 */
export class ChatStream {
  readonly text = new TextStream();
  /** Resolves when there is something to send: from then on the reply is a stream. */
  readonly begun: Promise<void>;
  readonly #options: ChatStreamOptions;
  readonly #before: string;
  readonly #after: string;
  #resolveBegun: () => void = () => {};
  #hasBegun = false;
  #hasRole = false;
  #isEnded = false;
  /** Text of the response that is coming, and whether another one went before it. */
  #sent = 0;
  #hasText = false;

  constructor(options: ChatStreamOptions) {
    const { head, sessionId, includeUsage } = options;
    this.#options = options;
    this.begun = new Promise((resolve) => {
      this.#resolveBegun = resolve;
    });
    // The common part of all chunks is written once, so that a delta costs little more than its text.
    const { id, created, model } = head;
    const common = JSON.stringify({ id, object: 'chat.completion.chunk', created, model });
    this.#before = `data: ${common.slice(0, -1)},"choices":[{"index":0,"delta":`;
    const usage = includeUsage ? ',"usage":null' : '';
    this.#after = `,"logprobs":null,"finish_reason":null}]${usage},"svc":${JSON.stringify({ session_id: sessionId })}}\n\n`;
  }

  /** False while a failure can still be a JSON error. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Text of the model as it comes. */
  delta({ content, reasoning, refusal }: ModelDelta): void {
    if (reasoning !== undefined && reasoning !== '') this.#chunk({ reasoning_content: reasoning });
    if (content !== undefined && content !== '') this.#content(content);
    if (refusal !== undefined && refusal !== '') this.#chunk({ refusal });
  }

  /** Takes an event of the turn. */
  event(event: EventBody): void {
    if (event.type === 'model.requested') {
      this.#sent = 0;
    } else if (event.type === 'tool.called') {
      const { tool_call_id: id, name, arguments: args } = event;
      this.#svcEvent({ type: 'tool_call', id, name, arguments: args });
    } else if (event.type === 'tool.responded') {
      const { tool_call_id: id, name, content, is_error, duration_ms } = event;
      this.#svcEvent({
        type: 'tool_result',
        id,
        name,
        text: cutToolText(readableText(content)),
        is_error,
        duration_ms,
      });
    }
  }

  /** Tells proxies and clients that the connection is alive. Before the first chunk it commits the reply to be a stream. */
  keepAlive(): void {
    if (this.#isEnded) return;
    this.#begin();
    this.text.push(': keep-alive\n\n');
  }

  /** Ends the stream with the turn's answer. */
  finish({ choices: [choice], usage, svc }: ChatCompletion): void {
    this.#start();
    this.#full([{ index: 0, delta: {}, logprobs: null, finish_reason: choice.finish_reason }], null, svc);
    if (this.#options.includeUsage) this.#full([], usage, svc);
    this.text.push('data: [DONE]\n\n');
    this.#end();
  }

  /** Ends the stream with what it failed with. */
  fail(error: ApiError): void {
    this.text.push(`data: ${toOneLine(error.toBody())}\n\n`);
    this.#end();
  }

  #content(content: string): void {
    const isNext = this.#sent === 0 && this.#hasText;
    this.#sent += content.length;
    this.#hasText = true;
    this.#chunk({ content: isNext ? `${TEXT_SEPARATOR}${content}` : content });
  }

  #svcEvent(event: object): void {
    this.#start();
    if (!this.#options.hasEvents) return;
    const svc = { session_id: this.#options.sessionId, event };
    this.#full([{ index: 0, delta: {}, logprobs: null, finish_reason: null }], null, svc);
  }

  #chunk(delta: object): void {
    this.#start();
    this.text.push(`${this.#before}${toOneLine(delta)}${this.#after}`);
  }

  #full(choices: readonly object[], usage: ChatUsage | null, svc: object): void {
    const { head, includeUsage } = this.#options;
    const { id, created, model } = head;
    const chunk = { id, object: 'chat.completion.chunk', created, model, choices };
    this.text.push(`data: ${toOneLine({ ...chunk, ...(includeUsage ? { usage } : {}), svc })}\n\n`);
  }

  /** The role goes before everything else. */
  #start(): void {
    if (this.#hasRole) return;
    this.#hasRole = true;
    this.#begin();
    this.text.push(`${this.#before}{"role":"assistant","content":""}${this.#after}`);
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

/** JSON without the characters that are ends of a line to some readers, although not to an event stream. */
function toOneLine(value: object): string {
  return JSON.stringify(value).replace(/[\u0085\u2028\u2029]/g, (end) => LINE_ENDS[end] ?? end);
}

const LINE_ENDS: Readonly<Record<string, string>> = {
  '\u0085': '\\u0085',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};
