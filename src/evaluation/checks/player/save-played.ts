import type { EventBody } from '../../../contract/service/event.ts';
import type { Database } from '../../../store/database/database.ts';
import { writeWholeTraces } from '../../../store/traces/import-traces.ts';
import type { Redactor } from '../../../support/redaction/redactor.ts';
import type { PlayedSession } from './play.ts';

/** Store for the traces that findings show. */
export interface PlayedStore {
  readonly database: Database;
  readonly redactor: Redactor;
}

/**
 * Stores the trace of a session completely or not at all. A worker of the same database would play an incomplete trace
 * as a queued run.
 */
export async function savePlayed(
  { database, redactor }: PlayedStore,
  account: string,
  { log }: PlayedSession,
): Promise<string> {
  const { traceId } = log;
  const events = log.events.map(({ seq: _seq, at, attempt: _attempt, ...body }) => ({
    at: Date.parse(at),
    body: body as EventBody,
  }));
  await writeWholeTraces(database, [{ traceId, events }], { account, redactor });
  return traceId;
}
