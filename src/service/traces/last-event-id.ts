import { ApiError } from '../../contract/errors.ts';

/** Sequence number of the last event that a reader has; 0 without the header. @throws ApiError invalid_parameter */
export function parseLastEventId(header: string | readonly string[] | undefined): number {
  const text = String(header ?? '').trim();
  if (text === '') return 0;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new ApiError(
    'invalid_parameter',
    `Last-Event-ID has to be the id of an event, a number, got ${JSON.stringify(text.slice(0, 100))}.`,
    { param: 'Last-Event-ID' },
  );
}
