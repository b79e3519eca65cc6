import { ApiError } from '../contract/errors.ts';
import { preview } from '../contract/json-schema.ts';
import type { ChatModel, ModelRequest, ModelResponse, ReferenceContext } from './chat-model.ts';
import { OracleModel } from './oracle-model.ts';
import { RandomModel } from './random-model.ts';
import { answerWith } from './reference-response.ts';

/** The built-in models, which need no gateway (contract section 3, "Models"). */
export const REFERENCE_MODELS = ['proctor/oracle', 'proctor/noop', 'proctor/random'] as const;

type ReferenceName = (typeof REFERENCE_MODELS)[number];

/** Every name of ours, be it one that exists or not; all others are the gateway's. */
export function isReferenceModel(name: string): boolean {
  return name.startsWith('proctor/');
}

/** @throws ApiError model_not_found for a name of ours that does not exist, listing those that do. */
export function checkReferenceModel(name: string): asserts name is ReferenceName {
  if ((REFERENCE_MODELS as readonly string[]).includes(name)) return;
  const message = `There is no model ${preview(name)}: the reference models are ${REFERENCE_MODELS.join(', ')}`;
  throw new ApiError('model_not_found', message, { param: 'model' });
}

/**
 * A reference model for one session: it remembers how far it has come.
 *
 * @throws ApiError model_not_found.
 */
export function createReferenceModel(name: string, context: ReferenceContext): ChatModel {
  checkReferenceModel(name);
  switch (name) {
    case 'proctor/oracle':
      return new OracleModel(name, context);
    case 'proctor/noop':
      return new NoopModel(name);
    case 'proctor/random':
      return new RandomModel(name, context.seed);
  }
}

/** `proctor/noop`: does nothing and answers an empty text. */
class NoopModel implements ChatModel {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  async respond(request: ModelRequest): Promise<ModelResponse> {
    request.signal.throwIfAborted();
    return answerWith('');
  }
}
