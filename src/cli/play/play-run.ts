import type { ServiceClient } from '../../client/service-client.ts';
import type { TraceEvent } from '../../contract/service/event.ts';
import type { RunAccepted } from '../../contract/service/run.ts';
import type { Trace } from '../../contract/service/trace.ts';

/**
 * Plays one run and shows its events as they arrive.
 *
 * @param begin asks the service for the run.
 * @param stop cancels the run: a run of a service would otherwise outlive this command.
 */
export async function playRun(
  client: ServiceClient,
  begin: () => Promise<Pick<RunAccepted, 'trace_id'>>,
  show: (events: readonly TraceEvent[]) => void,
  stop: AbortSignal,
): Promise<Trace> {
  const { trace_id } = await begin();
  // The run may have ended. If the service is away, reading the events fails.
  const cancel = () => void client.traces.cancel(trace_id).catch(() => {});
  stop.addEventListener('abort', cancel);
  try {
    if (stop.aborted) cancel();
    for await (const event of client.traces.events(trace_id)) if ('seq' in event) show([event]);
    return await client.traces.get(trace_id);
  } finally {
    stop.removeEventListener('abort', cancel);
  }
}
