import type { ToolCall } from '../../../contract/chat.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { ChatModel, ModelRequest, ModelResponse } from '../chat-model.ts';
import { answerWith, callWith } from './reference-response.ts';

/** A model that makes given calls, one in each response, and then gives an answer. */
export class CallsModel implements ChatModel {
  readonly name: string;
  readonly #calls: readonly { readonly name: string; readonly arguments: JsonObject }[];
  readonly #answer: string;
  #made = 0;

  constructor(name: string, calls: readonly Pick<ToolCall, 'name' | 'arguments'>[], answer: string) {
    this.name = name;
    this.#calls = calls;
    this.#answer = answer;
  }

  async respond({ signal, onDelta }: ModelRequest): Promise<ModelResponse> {
    signal.throwIfAborted();
    const call = this.#calls[this.#made];
    if (call === undefined) return answerWith(this.#answer, onDelta);
    this.#made += 1;
    return callWith({ id: `call_${this.#made}`, name: call.name, arguments: call.arguments, raw_arguments: null });
  }
}
