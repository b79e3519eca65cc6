import type { EventBody } from '../../contract/event.ts';
import type { TraceStore } from '../../trace/trace-store.ts';
import type { Played } from './play.ts';

/** Writes the trace of a session that a finding shows. Its events have the times at which they are written. */
export async function savePlayed(store: TraceStore, account: string, { log }: Played): Promise<string> {
  const { traceId } = log;
  const [first, ...events] = log.events;
  if (first?.type !== 'run.queued') throw new TypeError('A session was played without its request');
  const {
    seq: _seq,
    at: _at,
    attempt: _attempt,
    type: _type,
    previous_end: _end,
    previous_error: _error,
    ...queued
  } = first;
  await store.create({ traceId, account, queued });
  const bodies = events.map(({ seq: _number, at: _time, attempt: _try, ...body }) => body as EventBody);
  await store.append(traceId, 1, bodies);
  return traceId;
}
