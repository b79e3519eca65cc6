import { randomInt } from 'node:crypto';
import type { ChatModel, ModelRequest, ModelResponse, ReferenceContext } from './chat-model.ts';
import { OracleModel } from './oracle-model.ts';
import { answerWith, leastAnswer } from './reference-response.ts';
import { createSeededRandom } from './seeded-random.ts';

/** Share of the runs that it plays well. */
const SKILL = 1 / 3;

/**
 * `proctor/novice`: plays the scenario's solution in one run of three, picked by chance, and does nothing in the others. A
 * weak model for trying out evaluations and training where there is no gateway: what it can do, it has from the author.
 * The same seed plays the same run as well or as badly.
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
