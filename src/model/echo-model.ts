import type { ChatModel, ModelRequest, ModelResponse, ReferenceContext } from './chat-model.ts';
import { answerSaying, literalsOf, promptTextOf } from './prompt-literals.ts';
import { answerWith } from './reference-response.ts';

/**
 * `proctor/echo`: calls nothing, and says the prompt again; with a seed of 1 or more the literal of that number in it (a
 * quoted text, a number, a name), and the whole prompt where it has fewer.
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
