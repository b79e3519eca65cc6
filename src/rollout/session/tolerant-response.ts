import { BoundaryError } from '../../contract/errors.ts';
import type { ChatModel, ModelRequest, ModelResponse } from '../../models/gateway/chat-model.ts';

/** Optional fields of a request, and how gateways name one that a model does not accept. */
const OPTIONAL_FIELDS = [
  ['temperature', /temperature/i],
  ['response_format', /response_format|json_schema|structured output/i],
  ['seed', /\bseed\b/i],
] as const;

/**
 * Asks a model, and asks again without each optional field of `sampling` that it refuses. Many models accept no
 * temperature, and many gateways no schema. A refused field is deleted from `sampling` for later calls.
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
