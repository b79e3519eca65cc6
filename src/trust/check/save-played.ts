import type { EventBody } from '../../contract/event.ts';
import type { Database } from '../../database/database.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { writeWholeTraces } from '../../trace/import-traces.ts';
import type { Played } from './play.ts';

/** The store of the traces that findings show. */
export interface PlayedStore {
  readonly database: Database;
  readonly redactor: Redactor;
}

/**
 * Writes the trace of a session that a finding shows, whole or not at all: a worker of the same database takes what is
 * accepted and not ended for a run that is to be played.
 */
export async function savePlayed(
  { database, redactor }: PlayedStore,
  account: string,
  { log }: Played,
): Promise<string> {
  const { traceId } = log;
  const events = log.events.map(({ seq: _seq, at, attempt: _attempt, ...body }) => ({
    at: Date.parse(at),
    body: body as EventBody,
  }));
  await writeWholeTraces(database, [{ traceId, events }], { account, redactor });
  return traceId;
}
