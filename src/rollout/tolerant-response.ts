import { BoundaryError } from '../contract/errors.ts';
import type { ChatModel, ModelRequest, ModelResponse } from '../model/chat-model.ts';

/** Fields that a question can do without, and how a gateway names one that its model does not take. */
const OPTIONAL_FIELDS = [
  ['temperature', /temperature/i],
  ['response_format', /response_format|json_schema|structured output/i],
  ['seed', /\bseed\b/i],
] as const;

/**
 * Asks a model, and once more without each optional field of `sampling` that it refuses: many models take no temperature,
 * and many gateways no schema. Such a field is gone from `sampling` afterwards, for the calls that follow.
 *
 * @throws as `ChatModel.respond`.
 */
export async function respondTolerantly(
  model: ChatModel,
  {
    sampling,
    ...request
  }: Omit<ModelRequest, 'sampling'> & { sampling: Record<string, ModelRequest['sampling'][string]> },
): Promise<ModelResponse> {
  for (;;) {
    try {
      return await model.respond({ ...request, sampling: { ...sampling } });
    } catch (thrown) {
      const refused = refusedField(thrown, sampling);
      if (refused === undefined) throw thrown;
      delete sampling[refused];
    }
  }
}

function refusedField(thrown: unknown, sampling: ModelRequest['sampling']): string | undefined {
  if (!(thrown instanceof BoundaryError) || (thrown.status !== 400 && thrown.status !== 422)) return undefined;
  return OPTIONAL_FIELDS.find(([field, wording]) => field in sampling && wording.test(thrown.message))?.[0];
}
