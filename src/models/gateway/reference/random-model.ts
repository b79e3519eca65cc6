import { randomInt } from 'node:crypto';
import type { AgentTool, ToolCall } from '../../../contract/chat.ts';
import type { ChatModel, ModelRequest, ModelResponse, ReferenceContext } from '../chat-model.ts';
import { randomArguments } from './random-arguments.ts';
import { answerWith, callWith, leastAnswer } from './reference-response.ts';
import { createSeededRandom, type SeededRandom } from './seeded-random.ts';

/** Most calls before the answer. */
const MAX_CALLS = 8;

/**
 * `proctor/random`: one valid call of a random tool in each response, and after 1 to 8 of them the answer of
 * `proctor/noop`. The same seed and tools give the same calls; without a seed every run differs.
 */
export class RandomModel implements ChatModel {
  readonly name: string;
  readonly #context: ReferenceContext;
  readonly #random: SeededRandom;
  readonly #maxCalls: number;
  #made = 0;

  constructor(name: string, context: ReferenceContext) {
    this.name = name;
    this.#context = context;
    this.#random = createSeededRandom(context.seed ?? randomInt(2 ** 32));
    this.#maxCalls = this.#random.integer(1, MAX_CALLS);
  }

  async respond(request: ModelRequest): Promise<ModelResponse> {
    request.signal.throwIfAborted();
    const call = this.#made < this.#maxCalls ? this.#call(request.tools) : undefined;
    // After its last call it answers every further turn.
    this.#made = call === undefined ? this.#maxCalls : this.#made + 1;
    if (call !== undefined) return callWith(call);
    return answerWith(leastAnswer(this.#context.answerSchema()), request.onDelta);
  }

  /** A random call; undefined if no tool is offered or no valid arguments were found. */
  #call(tools: readonly AgentTool[]): ToolCall | undefined {
    const untried = [...tools];
    while (untried.length > 0) {
      const [tool] = untried.splice(this.#random.integer(0, untried.length - 1), 1);
      const args = tool && randomArguments(tool.input_schema, this.#random);
      if (tool && args)
        return { id: `random_${this.#made + 1}`, name: tool.name, arguments: args, raw_arguments: null };
    }
    return undefined;
  }
}
