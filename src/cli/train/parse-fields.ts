import type { z } from 'zod';
import { ApiError } from '../../contract/errors.ts';
import { parseBody } from '../../support/http/api/validation.ts';
import { UsageError } from '../base/failure.ts';

/**
 * Parses values that options have set with the schema of a request.
 *
 * @param toOption gives the option of a field at fault, such as `--min-reward`. @throws UsageError
 */
export function parseFields<Schema extends z.ZodType>(
  schema: Schema,
  values: object,
  toOption: (field: string) => string,
): z.output<Schema> {
  try {
    return parseBody(schema, JSON.parse(JSON.stringify(values))) as z.output<Schema>;
  } catch (error) {
    if (!(error instanceof ApiError) || error.param === null) throw error;
    const { param, message } = error;
    throw new UsageError(message.startsWith(param) ? `${toOption(param)}${message.slice(param.length)}` : message);
  }
}
