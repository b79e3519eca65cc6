import type { ContentBlock } from '../../contract/chat.ts';
import type { ApiError } from '../../contract/errors.ts';
import type { EventBody } from '../../contract/event.ts';
import type { PromptMessage } from '../../contract/scenario.ts';
import type { SessionStatus } from '../../contract/session.ts';
import { TextStream } from '../../http/text-stream.ts';
import type { ModelDelta } from '../../model/chat-model.ts';
import type { ChatSession } from '../../rollout/chat-session.ts';
import type { PlayedTurn } from '../play-turn.ts';

/** What the page of the playground reads of a turn, one JSON object a line, as it happens. */
type Frame =
  | { readonly type: 'session'; readonly session_id: string; readonly trace_url: string; readonly model: string }
  | {
      readonly type: 'prompt';
      readonly system: string | null;
      readonly messages: readonly { readonly role: string; readonly text: string }[];
      /** True where an answer is text; else it is JSON of the scenario's schema. */
      readonly has_text_answer: boolean;
      readonly tools: readonly string[];
    }
  /** The model begins a response. */
  | { readonly type: 'step'; readonly step: number }
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: object }
  | ToolResultFrame
  | { readonly type: 'answered'; readonly finish_reason: PlayedTurn['finishReason']; readonly steps: number }
  | { readonly type: 'failed'; readonly message: string; readonly status: SessionStatus };

interface ToolResultFrame {
  readonly type: 'tool_result';
  readonly id: string;
  readonly text: string;
  readonly images: readonly { readonly type: string; readonly data: string }[];
  readonly is_error: boolean;
  readonly duration_ms: number;
}

/** One turn of a session, as the page of the playground shows it. */
export class TurnStream {
  readonly text = new TextStream();
  readonly #session: ChatSession;
  /** Characters of the response that is coming. */
  #sent = 0;

  constructor(session: ChatSession, traceUrl: string) {
    this.#session = session;
    this.#push({ type: 'session', session_id: session.id, trace_url: traceUrl, model: session.options.model });
  }

  delta({ content, reasoning }: ModelDelta): void {
    if (reasoning) this.#push({ type: 'reasoning', text: reasoning });
    if (!content) return;
    this.#sent += content.length;
    this.#push({ type: 'text', text: content });
  }

  event(event: EventBody): void {
    if (event.type === 'turn.started' && event.turn === 1) this.#prompt();
    else if (event.type === 'model.requested') {
      this.#sent = 0;
      this.#push({ type: 'step', step: event.step });
    } else if (event.type === 'model.responded') {
      // A model that gives no deltas has said it all at once.
      if (this.#sent === 0) this.delta({ content: event.message.content ?? '' });
    } else if (event.type === 'tool.called') {
      const { tool_call_id: id, name, arguments: args } = event;
      this.#push({ type: 'tool_call', id, name, arguments: args });
    } else if (event.type === 'tool.responded') {
      const { tool_call_id: id, content, is_error, duration_ms } = event;
      this.#push({ type: 'tool_result', id, ...splitContent(content), is_error, duration_ms });
    }
  }

  /** An empty line, which the page leaves out: proxies see that the connection is alive. */
  keepAlive(): void {
    this.text.push('\n');
  }

  finish({ finishReason }: PlayedTurn): void {
    this.#push({ type: 'answered', finish_reason: finishReason, steps: this.#session.steps });
    this.text.end();
  }

  fail({ message }: ApiError): void {
    this.#push({ type: 'failed', message, status: this.#session.status });
    this.text.end();
  }

  #prompt(): void {
    const { setup } = this.#session;
    if (setup === undefined) return;
    this.#push({
      type: 'prompt',
      system: setup.system,
      messages: setup.prompt.map(({ role, content }) => ({ role, text: textOf(content) })),
      has_text_answer: setup.answer_schema === null || setup.answer_schema.type === 'string',
      tools: setup.tools ?? [],
    });
  }

  #push(frame: Frame): void {
    this.text.push(`${JSON.stringify(frame)}\n`);
  }
}

/** Text, and the images that are small enough to be in the event itself; the trace has the others. */
function splitContent(content: readonly ContentBlock[]): Pick<ToolResultFrame, 'text' | 'images'> {
  const images: { readonly type: string; readonly data: string }[] = [];
  const texts = content.flatMap((block) => {
    if (typeof block.text === 'string') return [block.text];
    const { mimeType: type, data } = block;
    if (block.type !== 'image' || typeof type !== 'string' || typeof data !== 'string') return [`[${block.type}]`];
    if (!/^[\w+/]+=*$/.test(data)) return [`[${type}, to be seen in the trace]`];
    images.push({ type, data });
    return [];
  });
  return { text: texts.join('\n'), images };
}

function textOf(content: PromptMessage['content']): string {
  if (typeof content === 'string') return content;
  return content
    .map((part) => (part.type === 'text' ? part.text : `[${part.mimeType}, to be seen in the trace]`))
    .join('\n');
}
