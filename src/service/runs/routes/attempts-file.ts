import { everyItem } from '../../../client/requests.ts';
import type { AttemptQuery, EvaluationStore } from '../../../evaluation/evaluations/evaluation-store.ts';
import { createAttemptTable, TABLE_TYPES, type TableFormat } from '../../../store/formats/attempt-table.ts';
import type { RouteReply } from '../../../support/http/api/route.ts';
import { TextStream } from '../../../support/http/text-stream.ts';
import { withDeadline } from '../../../support/runtime/deadline.ts';

export interface AttemptsFileOptions {
  readonly account: string;
  readonly id: string;
  readonly format: TableFormat;
  readonly query: Pick<AttemptQuery, 'model' | 'task_id' | 'outcome' | 'grades'>;
  /** True sends the headers only. */
  readonly isHead: boolean;
  /** Aborted when the client disconnects or the service shuts down. */
  readonly signal: AbortSignal;
  /** Gets the error of a file that could not be completed. */
  onError(error: unknown): void;
}

/** Attempts of one database read. */
const PAGE = 1_000;
/** Milliseconds after which a client that reads nothing is disconnected. */
const STALLED_MS = 60_000;

/**
 * Streams all attempts of an evaluation as a file. If it cannot be completed, the connection is cut, so that the
 * client does not take the part for the whole.
 *
 * @throws ApiError evaluation_not_found, or invalid_parameter for an unknown model; both before the first byte.
 */
export async function attemptsFile(evaluations: EvaluationStore, options: AttemptsFileOptions): Promise<RouteReply> {
  const { account, id, format, query, isHead } = options;
  const evaluation = await evaluations.get(account, id);
  await evaluations.attempts(account, id, { ...query, limit: 1 });
  const first: Omit<AttemptQuery, 'cursor'> & { readonly cursor?: string } = { ...query, limit: PAGE };
  const text = new TextStream();
  const table = createAttemptTable(format, evaluation);
  text.push(table.head);
  if (isHead) text.end();
  else
    void write(
      text,
      everyItem(first, (page) => evaluations.attempts(account, id, page)),
    );
  return {
    headers: {
      'content-type': TABLE_TYPES[format],
      'content-disposition': `attachment; filename="${evaluation.evaluation_id}-attempts.${format}"`,
      'cache-control': 'no-store',
    },
    stream: text,
  };

  async function write(into: TextStream, attempts: AsyncIterable<Parameters<typeof table.toLine>[0]>): Promise<void> {
    const { signal } = options;
    try {
      for await (const attempt of attempts) {
        signal.throwIfAborted();
        into.push(table.toLine(attempt));
        if (into.isBlocked) await withDeadline(() => into.flowing(), { ms: STALLED_MS, signal });
      }
      into.end();
    } catch (error) {
      into.cut();
      if (!signal.aborted) options.onError(error);
    }
  }
}
