import { randomInt } from 'node:crypto';
import type { ChatModel, ModelRequest, ModelResponse, ReferenceContext } from '../chat-model.ts';
import { OracleModel } from './oracle-model.ts';
import { answerWith, leastAnswer } from './reference-response.ts';
import { createSeededRandom } from './seeded-random.ts';

/** Share of the runs in which it plays the solution. */
const SKILL = 1 / 3;

/**
 * `proctor/novice`: plays the scenario's solution in a random third of the runs and does nothing in the others. It is a
 * weak model for trying out evaluations and training without a gateway. The same seed gives the same result for the
 * same run.
 */
export class NoviceModel implements ChatModel {
  readonly name: string;
  readonly #context: ReferenceContext;
  readonly #oracle: OracleModel | undefined;

  constructor(name: string, context: ReferenceContext) {
    this.name = name;
    this.#context = context;
    const isSkilled = createSeededRandom(context.seed ?? randomInt(2 ** 32)).chance(SKILL);
    this.#oracle = isSkilled ? new OracleModel(name, context) : undefined;
  }

  async respond(request: ModelRequest): Promise<ModelResponse> {
    request.signal.throwIfAborted();
    if (this.#oracle !== undefined) return await this.#oracle.respond(request);
    return answerWith(leastAnswer(this.#context.answerSchema()), request.onDelta);
  }

  checkResults(results: Parameters<OracleModel['checkResults']>[0]): void {
    this.#oracle?.checkResults(results);
  }
}
