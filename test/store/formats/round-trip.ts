import type { Trace } from '../../../src/contract/service/trace.ts';
import { parseDataUrl, toDataUrl } from '../../../src/store/formats/addresses.ts';
import type { WriteContext } from '../../../src/store/formats/format.ts';
import type { ImportedTrace, ReadContext } from '../../../src/store/formats/imported-trace.ts';
import { Losses } from '../../../src/store/formats/losses.ts';
import { toImportedEvents } from '../../../src/store/traces/imported-events.ts';
import { projectTrace } from '../../../src/store/traces/rows/projection.ts';

export function writeContext(): WriteContext {
  return { losses: new Losses(), addressOf: toDataUrl };
}

export function readContext(options: ReadContext['options'] = {}): ReadContext {
  return { options, losses: new Losses(), bytesAt: parseDataUrl };
}

/** The trace that a store has once it has written what was read. */
export function stored(imported: ImportedTrace): Trace {
  const events = toImportedEvents(imported, 0).map(({ at, body }, index) => ({
    seq: index + 1,
    at: new Date(at).toISOString(),
    attempt: 1,
    ...body,
  }));
  return projectTrace(events, { traceId: 'f'.repeat(32), traceUrl: '' });
}

/**
 * The part of a trace that comes back whatever the format: all but ids, origin, attempts and logs (contract section 11).
 * Of the trace that it repeats there is the id alone.
 */
export function comparable(trace: Trace): object {
  const { trace_id, trace_url, origin, attempt, attempts, logs, evaluation_id, rerun, superseded, parent, ...rest } =
    trace;
  return rest;
}
