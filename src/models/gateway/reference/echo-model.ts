import type { ChatModel, ModelRequest, ModelResponse, ReferenceContext } from '../chat-model.ts';
import { answerSaying, literalsOf, promptTextOf } from './prompt-literals.ts';
import { answerWith } from './reference-response.ts';

/**
 * `proctor/echo`: calls nothing and repeats the prompt. With a seed n of 1 or more it says only the n-th literal of the
 * prompt (a quoted text, a number or a name), or the whole prompt if there are fewer.
 */
export class EchoModel implements ChatModel {
  readonly name: string;
  readonly #context: ReferenceContext;

  constructor(name: string, context: ReferenceContext) {
    this.name = name;
    this.#context = context;
  }

  async respond({ messages, signal, onDelta }: ModelRequest): Promise<ModelResponse> {
    signal.throwIfAborted();
    const prompt = promptTextOf(messages);
    const said = literalsOf(prompt)[(this.#context.seed ?? 0) - 1] ?? prompt;
    return answerWith(answerSaying(said, this.#context.answerSchema()), onDelta);
  }
}
