import { ApiError } from './errors.ts';
import type { JsonObject } from './json.ts';
import { sizeOf } from './service/page-budget.ts';

/** Largest sizes of request fields in bytes, as JSON (contract sections 3 and 9). */
export const SIZE_LIMITS = { sampling: 64 * 1024, scenario_args: 1024 * 1024, hyperparameters: 64 * 1024 } as const;

/** @throws ApiError request_too_large that names the field. */
export function checkSize(param: keyof typeof SIZE_LIMITS, value: JsonObject): void {
  const size = sizeOf(value);
  const limit = SIZE_LIMITS[param];
  if (size <= limit) return;
  throw new ApiError('request_too_large', `${param} is ${size} bytes as JSON; at most ${limit} are accepted.`, {
    param,
  });
}
