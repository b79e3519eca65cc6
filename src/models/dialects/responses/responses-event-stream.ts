import type { JsonObject } from '../../../contract/json.ts';
import { toOpenAiError } from '../chat/write-chat.ts';
import type { DialectError, DialectRequest, DialectStream, ReplyHead } from '../dialect.ts';
import { namedFrame } from '../event-frames.ts';
import type { ModelDelta, ModelOutput } from '../model-output.ts';
import { SentText } from '../sent-text.ts';
import {
  begunResponse,
  callItem,
  finishedResponse,
  ItemIds,
  messageItem,
  reasoningItem,
  textPart,
} from './write-responses.ts';

type Kind = 'reasoning' | 'content' | 'refusal';

/** A streamed answer of Responses. Items come one after the other; each is added, filled and finished. */
export class ResponsesEventStream implements DialectStream {
  readonly #request: DialectRequest;
  #head: ReplyHead;
  readonly #ids: ItemIds;
  readonly #sent = new SentText();
  readonly #items: JsonObject[] = [];
  #sequence = 0;
  #hasStarted = false;
  #open: { readonly kind: Kind; readonly id: string; text: string } | undefined;
  #output: ModelOutput | undefined;

  constructor(request: DialectRequest, head: ReplyHead) {
    this.#request = request;
    this.#head = head;
    this.#ids = new ItemIds(head);
  }

  delta(delta: ModelDelta): string {
    return this.#sent
      .take(delta)
      .map(({ field, text }) => this.#write(field, text))
      .join('');
  }

  /** Has no empty line after it, because some readers would take that for an event without data. */
  keepAlive(): string {
    return ': keep-alive\n';
  }

  complete(output: ModelOutput, extra?: JsonObject): string {
    this.#output = output;
    const { message } = output;
    const rest = this.#start() + this.delta(this.#sent.rest(message)) + this.#stop();
    this.#head = { ...this.#head, extra: { ...this.#head.extra, ...extra } };
    const isEmpty = this.#items.length === 0 && message.tool_calls.length === 0;
    const empty = isEmpty ? this.#begin('content') + this.#stop() : '';
    return (
      rest + empty + message.tool_calls.map((call) => this.#call(callItem(call, this.#request, this.#ids))).join('')
    );
  }

  end(): string {
    if (this.#output === undefined) throw new TypeError('A stream ends after its answer is complete');
    const response = finishedResponse(this.#request, { head: this.#head, output: this.#output, items: this.#items });
    return this.#event(`response.${String(response.status)}`, { response });
  }

  /** Writes two events, because clients differ in which one they read. */
  fail(error: DialectError): string {
    const { code, message, param } = error;
    const started = this.#start();
    const response = { ...begunResponse(this.#request, this.#head), status: 'failed', error: { code, message } };
    const failed = this.#event('response.failed', { response });
    return `${started}${failed}${this.#event('error', { code, message, param, ...toOpenAiError(error) })}`;
  }

  #write(kind: Kind, text: string): string {
    const begun = this.#open?.kind === kind ? '' : this.#begin(kind);
    if (this.#open !== undefined) this.#open.text += text;
    return `${begun}${this.#event(DELTAS[kind], { ...this.#place(kind), delta: text, ...(kind === 'content' ? { logprobs: [] } : {}) })}`;
  }

  #begin(kind: Kind): string {
    const before = this.#start() + this.#stop();
    const id = this.#ids.next(kind === 'reasoning' ? 'rs' : 'msg');
    this.#open = { kind, id, text: '' };
    const item =
      kind === 'reasoning'
        ? { type: 'reasoning', id, summary: [], encrypted_content: null, status: 'in_progress' }
        : messageItem(id, [], 'in_progress');
    const added = this.#event('response.output_item.added', { output_index: this.#items.length, item });
    return before + added + this.#event(PARTS[kind].added, { ...this.#place(kind), part: toPart(kind, '') });
  }

  #stop(): string {
    if (this.#open === undefined) return '';
    const { kind, id, text } = this.#open;
    const place = this.#place(kind);
    const logprobs = kind === 'content' ? { logprobs: [] } : {};
    const field = kind === 'refusal' ? 'refusal' : 'text';
    const said = this.#event(DONES[kind], { ...place, [field]: text, ...logprobs });
    const part = this.#event(PARTS[kind].done, { ...place, part: toPart(kind, text) });
    const item = kind === 'reasoning' ? reasoningItem(id, text) : messageItem(id, [toPart(kind, text)]);
    this.#open = undefined;
    return said + part + this.#done(item);
  }

  #call(item: JsonObject): string {
    const place = { item_id: item.id ?? null, output_index: this.#items.length };
    const [field, name] = item.type === 'custom_tool_call' ? CUSTOM : FUNCTION;
    const whole = item[field];
    // A typed call has no text that could be sent in pieces.
    const isText = typeof whole === 'string';
    const begun = { ...item, status: 'in_progress', ...(isText ? { [field]: '' } : {}) };
    const added = this.#event('response.output_item.added', { output_index: this.#items.length, item: begun });
    const filled = isText
      ? this.#event(`response.${name}.delta`, { ...place, delta: whole }) +
        this.#event(`response.${name}.done`, { ...place, [field]: whole, name: item.name ?? null })
      : '';
    return added + filled + this.#done(item);
  }

  #done(item: JsonObject): string {
    const done = this.#event('response.output_item.done', { output_index: this.#items.length, item });
    this.#items.push(item);
    return done;
  }

  #place(kind: Kind): JsonObject {
    const place = { item_id: this.#open?.id ?? null, output_index: this.#items.length };
    return kind === 'reasoning' ? { ...place, summary_index: 0 } : { ...place, content_index: 0 };
  }

  #start(): string {
    if (this.#hasStarted) return '';
    this.#hasStarted = true;
    const response = begunResponse(this.#request, this.#head);
    return this.#event('response.created', { response }) + this.#event('response.in_progress', { response });
  }

  #event(type: string, fields: JsonObject): string {
    const sequence_number = this.#sequence;
    this.#sequence += 1;
    return namedFrame(type, { type, sequence_number, ...fields });
  }
}

function toPart(kind: Kind, text: string): JsonObject {
  if (kind === 'reasoning') return { type: 'summary_text', text };
  return kind === 'refusal' ? { type: 'refusal', refusal: text } : textPart(text);
}

const DELTAS: Readonly<Record<Kind, string>> = {
  reasoning: 'response.reasoning_summary_text.delta',
  content: 'response.output_text.delta',
  refusal: 'response.refusal.delta',
};
const DONES: Readonly<Record<Kind, string>> = {
  reasoning: 'response.reasoning_summary_text.done',
  content: 'response.output_text.done',
  refusal: 'response.refusal.done',
};
const CONTENT_PARTS = { added: 'response.content_part.added', done: 'response.content_part.done' };
const PARTS: Readonly<Record<Kind, { readonly added: string; readonly done: string }>> = {
  reasoning: { added: 'response.reasoning_summary_part.added', done: 'response.reasoning_summary_part.done' },
  content: CONTENT_PARTS,
  refusal: CONTENT_PARTS,
};
const FUNCTION = ['arguments', 'function_call_arguments'] as const;
const CUSTOM = ['input', 'custom_tool_call_input'] as const;
