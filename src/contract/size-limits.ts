import { ApiError } from './errors.ts';
import type { JsonObject } from './json.ts';
import { sizeOf } from './page-budget.ts';

/** Contract sections 3 and 9: bytes, as JSON, of what a run, a session or a training job is started with. */
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
