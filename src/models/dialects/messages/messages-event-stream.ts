import type { JsonObject } from '../../../contract/json.ts';
import { toOneLine } from '../../../support/text/one-line-json.ts';
import type { DialectError, DialectRequest, DialectStream, ReplyHead } from '../dialect.ts';
import { namedFrame } from '../event-frames.ts';
import type { ModelDelta, ModelOutput } from '../model-output.ts';
import { signReasoning } from '../reasoning-signature.ts';
import { SentText } from '../sent-text.ts';
import {
  messageHead,
  STOP_REASONS,
  toMessagesError,
  toMessagesUsage,
  toolUse,
  writeMessagesError,
} from './write-messages.ts';

/** A streamed answer of Messages. Blocks come one after the other; each is started, filled and stopped. */
export class MessagesEventStream implements DialectStream {
  readonly #request: DialectRequest;
  readonly #head: ReplyHead;
  readonly #sent = new SentText();
  #hasStarted = false;
  #blockCount = 0;
  #open: 'text' | 'thinking' | undefined;
  /** Reasoning of the open block. */
  #thought = '';
  #output: ModelOutput | undefined;
  #extra: JsonObject = {};

  constructor(request: DialectRequest, head: ReplyHead) {
    this.#request = request;
    this.#head = head;
  }

  delta(delta: ModelDelta): string {
    const pieces = this.#sent.take(delta);
    return pieces.map(({ field, text }) => (field === 'reasoning' ? this.#think(text) : this.#say(text))).join('');
  }

  /** The first one also begins the message, which commits to nothing yet. */
  keepAlive(): string {
    return `${this.#start()}${namedFrame('ping', { type: 'ping' })}`;
  }

  complete(output: ModelOutput, extra: JsonObject = {}): string {
    this.#output = output;
    this.#extra = extra;
    const { message } = output;
    const rest = this.#start() + this.delta(this.#sent.rest(message)) + this.#stop();
    return rest + message.tool_calls.map((call) => this.#call(toolUse(call, this.#request), call.arguments)).join('');
  }

  end(): string {
    if (this.#output === undefined) throw new TypeError('A stream ends after its answer is complete');
    const { finishReason, usage } = this.#output;
    const delta = { stop_reason: STOP_REASONS[finishReason], stop_sequence: null };
    const ending = namedFrame('message_delta', {
      type: 'message_delta',
      delta,
      usage: toMessagesUsage(usage),
      ...this.#extra,
    });
    return `${ending}${namedFrame('message_stop', { type: 'message_stop' })}`;
  }

  fail(error: DialectError): string {
    const { status } = writeMessagesError(error);
    return namedFrame('error', toMessagesError({ ...error, status }));
  }

  #think(thinking: string): string {
    const begun = this.#begin('thinking', { type: 'thinking', thinking: '', signature: '' });
    this.#thought += thinking;
    return `${begun}${this.#piece({ type: 'thinking_delta', thinking })}`;
  }

  #say(text: string): string {
    return `${this.#begin('text', { type: 'text', text: '' })}${this.#piece({ type: 'text_delta', text })}`;
  }

  #call(block: JsonObject, input: JsonObject): string {
    const begun = this.#beginBlock({ ...block, input: {} });
    const filled = this.#piece({ type: 'input_json_delta', partial_json: JSON.stringify(input) });
    return `${begun}${filled}${this.#stopBlock()}`;
  }

  #begin(kind: 'text' | 'thinking', block: JsonObject): string {
    if (this.#open === kind) return '';
    const before = this.#start() + this.#stop();
    this.#open = kind;
    return before + this.#beginBlock(block);
  }

  #stop(): string {
    const kind = this.#open;
    if (kind === undefined) return '';
    const signature = signReasoning(this.#thought);
    const signed = kind === 'thinking' ? this.#piece({ type: 'signature_delta', signature }) : '';
    this.#open = undefined;
    this.#thought = '';
    return signed + this.#stopBlock();
  }

  #beginBlock(content_block: JsonObject): string {
    const index = this.#blockCount;
    this.#blockCount += 1;
    return namedFrame('content_block_start', { type: 'content_block_start', index, content_block });
  }

  #stopBlock(): string {
    return namedFrame('content_block_stop', { type: 'content_block_stop', index: this.#blockCount - 1 });
  }

  #piece(delta: JsonObject): string {
    const start = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#blockCount - 1},"delta":`;
    return `${start}${toOneLine(delta)}}\n\n`;
  }

  #start(): string {
    if (this.#hasStarted) return '';
    this.#hasStarted = true;
    const usage = { input_tokens: this.#head.promptTokens ?? 0, output_tokens: 0 };
    const message = { ...messageHead(this.#head), content: [], stop_reason: null, stop_sequence: null, usage };
    return namedFrame('message_start', { type: 'message_start', message });
  }
}
