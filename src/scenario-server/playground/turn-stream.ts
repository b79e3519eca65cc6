import type { ApiError } from '../../contract/errors.ts';
import type { EventBody } from '../../contract/event.ts';
import type { SetupResult } from '../../contract/scenario.ts';
import { TextStream } from '../../http/text-stream.ts';
import type { ModelDelta } from '../../model/chat-model.ts';
import type { ChatSession } from '../../rollout/chat-session.ts';
import type { PlayedTurn } from '../play-turn.ts';
import { type Frame, toMessage, toToolResultFrame } from './frames.ts';

/** One turn of a session as the page of the playground shows it, one frame a line, as it happens. */
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
      this.#push(toToolResultFrame(event));
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
      messages: setup.prompt.map(toMessage),
      has_text_answer: hasTextAnswer(setup),
      answer_schema: setup.answer_schema,
    });
  }

  #push(frame: Frame): void {
    this.text.push(`${JSON.stringify(frame)}\n`);
  }
}

/** False where an answer is JSON of the scenario's schema. */
export function hasTextAnswer({ answer_schema: schema }: Pick<SetupResult, 'answer_schema'>): boolean {
  return schema === null || schema.type === 'string';
}
