import type { Database, DatabaseTransaction } from '../../../store/database/database.ts';
import type { RunQueue } from '../../../store/queue/run-queue.ts';
import type { Chosen, TraceRow, TraceStore } from '../../../store/traces/trace-store.ts';
import { newId } from '../../../support/runtime/new-id.ts';
import { toReplay } from '../replay/replay-request.ts';

export interface RegradeParts {
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Most replays of a job that are queued or running. */
const AT_ONCE = 64;

/**
 * Starts replays of a job while there is room. One transaction locks the job's row, so that several processes can call
 * this, and a killed process leaves either the whole batch or nothing.
 */
export async function beginReplays(parts: RegradeParts, jobId: string): Promise<void> {
  const waiting = await readWaiting(parts.database, jobId);
  if (waiting.length === 0) return;
  const rows = await parts.store.rows(waiting.map(({ trace_id }) => trace_id));
  await parts.store.createChosen((transaction) => chooseReplays(parts, transaction, jobId, rows));
}

async function readWaiting({ kysely }: Database, jobId: string) {
  return await kysely
    .selectFrom('regrade_rows')
    .select(['row_index', 'trace_id'])
    .where('job_id', '=', jobId)
    .where('state', '=', 'waiting')
    .orderBy('row_index')
    .limit(AT_ONCE)
    .execute();
}

async function chooseReplays(
  { database, queue }: RegradeParts,
  transaction: DatabaseTransaction,
  jobId: string,
  known: ReadonlyMap<string, TraceRow>,
): Promise<Chosen> {
  const job = await transaction
    .selectFrom('regrades')
    .select(['status', 'account', 'key_id', 'fresh'])
    .where('job_id', '=', jobId)
    .$if(database.kind === 'postgres', (query) => query.forUpdate())
    .executeTakeFirst();
  if (job?.status !== 'running') return { traces: [] };
  const open = await transaction
    .selectFrom('regrade_rows')
    .select(['row_index', 'trace_id', 'state'])
    .where('job_id', '=', jobId)
    .where('state', '<>', 'done')
    .orderBy('row_index')
    .limit(AT_ONCE)
    .execute();
  const room = AT_ONCE - open.filter(({ state }) => state === 'running').length;
  const begun = open.filter(({ state }) => state === 'waiting').slice(0, Math.max(0, room));
  const replays = begun.flatMap(({ row_index, trace_id }) => {
    const row = known.get(trace_id);
    return row === undefined
      ? []
      : [{ row_index, traceId: newId(), queued: toReplay(row, { fresh: job.fresh === 1 }) }];
  });
  const gone = begun.filter(({ trace_id }) => !known.has(trace_id)).map(({ row_index }) => row_index);
  return {
    traces: replays.map(({ traceId, queued }) => ({ traceId, account: job.account, keyId: job.key_id, queued })),
    inTransaction: async (each) => {
      for (const { row_index, traceId, queued } of replays) {
        await queue.enqueue({ traceId, priority: 0, envName: queued.env_name, keyId: job.key_id }, each);
        await updateRow(each, jobId, row_index, { state: 'running', replay_trace_id: traceId });
      }
      for (const rowIndex of gone) await updateRow(each, jobId, rowIndex, { ...GONE });
    },
  };
}

/** Error for a trace that was deleted before its replay started. */
const GONE = {
  state: 'done',
  outcome: 'failed',
  detail: JSON.stringify({ boundary: 'worker', code: 'trace_not_found', message: 'The trace was deleted' }),
} as const;

async function updateRow(transaction: DatabaseTransaction, jobId: string, rowIndex: number, change: object) {
  await transaction
    .updateTable('regrade_rows')
    .set(change)
    .where('job_id', '=', jobId)
    .where('row_index', '=', rowIndex)
    .execute();
}
