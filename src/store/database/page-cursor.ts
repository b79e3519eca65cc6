import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ApiError } from '../../contract/errors.ts';

/** Limits of the number of rows on a page. */
export interface PageLimit {
  readonly default: number;
  readonly minimum: number;
  readonly maximum: number;
}

/** @throws ApiError invalid_parameter for a limit out of range. */
export function parsePageLimit(limit: number | undefined, { default: usual, minimum, maximum }: PageLimit): number {
  const given = limit ?? usual;
  if (Number.isInteger(given) && given >= minimum && given <= maximum) return given;
  throw new ApiError('invalid_parameter', `limit is ${given}: use a whole number from ${minimum} to ${maximum}`, {
    param: 'limit',
  });
}

/**
 * Cursor of the next page of a list, as opaque text for the client.
 *
 * @param list identifies the list: its name, filters and sort, as JSON.
 * @param position of the page's last row, as JSON.
 */
export function toPageCursor(list: unknown, position: unknown): string {
  return Buffer.from(JSON.stringify([fingerprintOf(list), position])).toString('base64url');
}

/** @throws ApiError invalid_parameter for a text that is not a cursor of this list. */
export function parsePageCursor<Position>(cursor: string, list: unknown, schema: z.ZodType<Position>): Position {
  const position = schema.safeParse(positionIn(cursor, list));
  if (position.success) return position.data;
  throw new ApiError(
    'invalid_parameter',
    'cursor is not one of this list: use the next_cursor of a page with the same filters and sort, or leave it out',
    { param: 'cursor' },
  );
}

const cursorSchema = z.tuple([z.string(), z.unknown()]);

function positionIn(cursor: string, list: unknown): unknown {
  try {
    const [made, position] = cursorSchema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
    return made === fingerprintOf(list) ? position : undefined;
  } catch {
    return undefined; // It is not JSON, so this code did not write it.
  }
}

/** The fingerprint is not a secret: a forged cursor reads only rows that its caller may list. */
function fingerprintOf(list: unknown): string {
  return createHash('sha256').update(JSON.stringify(list)).digest('base64url').slice(0, 12);
}
