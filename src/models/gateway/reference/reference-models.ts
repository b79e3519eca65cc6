import { ApiError } from '../../../contract/errors.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import { didYouMean } from '../../../support/text/did-you-mean.ts';
import type { ChatModel, ModelRequest, ModelResponse, ReferenceContext } from '../chat-model.ts';
import { lazyModel } from '../lazy-model.ts';
import { OracleModel } from './oracle-model.ts';
import { answerWith, leastAnswer } from './reference-response.ts';

/** The built-in models, which need no gateway (contract section 3, "Models"). */
export const REFERENCE_MODELS = [
  'proctor/oracle',
  'proctor/noop',
  'proctor/random',
  'proctor/novice',
  'proctor/echo',
  'proctor/forger',
] as const;

type ReferenceName = (typeof REFERENCE_MODELS)[number];

/** True for every `proctor/` name, even an unknown one. All other names belong to gateways. */
export function isReferenceModel(name: string): boolean {
  return name.startsWith('proctor/');
}

/** @throws ApiError model_not_found for an unknown `proctor/` name, with the known ones. */
export function checkReferenceModel(name: string): asserts name is ReferenceName {
  if ((REFERENCE_MODELS as readonly string[]).includes(name)) return;
  const message = `There is no model ${preview(name)}: the reference models are ${REFERENCE_MODELS.join(', ')}.${didYouMean(name, REFERENCE_MODELS)}`;
  throw new ApiError('model_not_found', message, { param: 'model' });
}

/**
 * A reference model for one session. It keeps its progress.
 *
 * @throws ApiError model_not_found.
 */
export function createReferenceModel(name: string, context: ReferenceContext): ChatModel {
  checkReferenceModel(name);
  switch (name) {
    case 'proctor/oracle':
      return new OracleModel(name, context);
    case 'proctor/noop':
      return new NoopModel(name, context);
    case 'proctor/random':
      return lazyModel(name, async () => new (await import('./random-model.ts')).RandomModel(name, context));
    case 'proctor/novice':
      return lazyModel(name, async () => new (await import('./novice-model.ts')).NoviceModel(name, context));
    case 'proctor/echo':
      return lazyModel(name, async () => new (await import('./echo-model.ts')).EchoModel(name, context));
    case 'proctor/forger':
      return lazyModel(name, async () => new (await import('./forger-model.ts')).ForgerModel(name, context));
  }
}

/** `proctor/noop`: does nothing, and answers an empty text or the smallest value that the `answer` schema accepts. */
class NoopModel implements ChatModel {
  readonly name: string;
  readonly #context: ReferenceContext;

  constructor(name: string, context: ReferenceContext) {
    this.name = name;
    this.#context = context;
  }

  async respond(request: ModelRequest): Promise<ModelResponse> {
    request.signal.throwIfAborted();
    return answerWith(leastAnswer(this.#context.answerSchema()), request.onDelta);
  }
}
