import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server';
import { isJsonObject } from '../../contract/json.ts';

/** Members of what one message says that its client can do, at any depth. Clients of today have a dozen. */
export const MAX_CAPABILITIES = 1_000;

/**
 * True where a message of a body says more of its client than any schema should be asked about: the SDK's takes a time that
 * grows with the square of the members of `elicitation`, half a minute for 100,000, and nobody is answered meanwhile.
 */
export function hasTooManyCapabilities(body: unknown): boolean {
  const messages = Array.isArray(body) ? body : [body];
  return messages.some((message) => {
    const params = isJsonObject(message) ? message.params : undefined;
    if (!isJsonObject(params)) return false;
    const meta = isJsonObject(params._meta) ? params._meta : {};
    return [params.capabilities, meta[CLIENT_CAPABILITIES_META_KEY]].some(
      (said) => countDown(said, MAX_CAPABILITIES) < 0,
    );
  });
}

/** The rest of `budget` after the members of a value. It stops counting once the budget is used up. */
function countDown(value: unknown, budget: number): number {
  if (typeof value !== 'object' || value === null) return budget;
  let left = budget;
  for (const key in value) {
    left = countDown((value as Record<string, unknown>)[key], left - 1);
    if (left < 0) return left;
  }
  return left;
}
