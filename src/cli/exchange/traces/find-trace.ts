import type { ServiceClient } from '../../../client/service-client.ts';
import { ApiError } from '../../../contract/errors.ts';
import type { Trace } from '../../../contract/service/trace.ts';

/** @throws ApiError trace_not_found with the command that lists ids. */
export async function findTrace(client: ServiceClient, traceId: string): Promise<Trace> {
  return await orHint(traceId, () => client.traces.get(traceId));
}

/** Runs an operation on a trace. @throws ApiError trace_not_found with the command that lists ids. */
export async function orHint<T>(traceId: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'trace_not_found') throw error;
    const way = '"proctor traces list" shows those of an account';
    throw new ApiError('trace_not_found', `There is no trace ${JSON.stringify(traceId.slice(0, 100))}: ${way}.`, {
      cause: error,
    });
  }
}
