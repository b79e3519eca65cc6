import type { TraceEvent } from '../../contract/service/event.ts';
import type { Database } from '../database/database.ts';
import { GroupCommit } from '../database/group-commit.ts';
import { type AppendContext, type AppendedGroup, appendEvents } from './append-events.ts';
import { EndRows } from './rows/end-rows.ts';
import { type AppendRequest, type EventWriter, readProjection } from './rows/event-rows.ts';
import { type TraceHead, TraceHeads } from './rows/trace-heads.ts';
import { type OpenedTrace, readTraceRow } from './rows/trace-rows.ts';
import { RunningTraces } from './running-traces.ts';

export interface EventAppenderOptions {
  readonly urlOf: (traceId: string) => string;
  /** Called with durable events, in order. It must not throw. */
  readonly onWritten: (traceId: string, events: readonly TraceEvent[]) => void;
}

/**
 * Number of groups that commit concurrently. SQLite has one writer, and its commit blocks this process. A commit on
 * Postgres waits for a round trip and the disk; other groups do not have to wait for it.
 */
const GROUPS = { sqlite: 1, postgres: 4 } as const;

/**
 * Appends events to traces in groups. It caches the state of these traces, so that the next append need not read it.
 */
export class EventAppender {
  readonly #database: Database;
  readonly #options: EventAppenderOptions;
  readonly #heads = new TraceHeads();
  readonly #running = new RunningTraces();
  readonly #context: AppendContext;
  readonly #groups: readonly GroupCommit<AppendRequest, readonly TraceEvent[]>[];

  constructor(database: Database, writer: EventWriter, options: EventAppenderOptions) {
    this.#database = database;
    this.#options = options;
    this.#context = {
      database,
      heads: this.#heads,
      writer,
      endRows: new EndRows(database),
      readUntil: (traceId, lastSeq) => this.#readUntil(traceId, lastSeq),
    };
    const commit = (requests: readonly AppendRequest[]) => this.#commit(requests);
    this.#groups = Array.from(
      { length: GROUPS[database.kind] },
      () => new GroupCommit<AppendRequest, readonly TraceEvent[]>(commit),
    );
  }

  /**
   * Resolves once the events are durable. @throws AttemptSupersededError when the attempt is no longer the current one.
   */
  append(request: AppendRequest): Promise<readonly TraceEvent[]> {
    // A trace always uses the same group, so that its requests keep their order. Every character of an id is random.
    const group = this.#groups[(request.traceId.charCodeAt(request.traceId.length - 1) || 0) % this.#groups.length];
    if (group === undefined) throw new TypeError(`There is no group for the trace ${request.traceId}`);
    return group.submit(request);
  }

  /** Records the state of a trace after a commit by other code. */
  stands(traceId: string, head: TraceHead): void {
    this.#heads.remember(traceId, head);
  }

  /** Records a row that was read, because its reader may write next. A head in memory may be newer than the row. */
  opened(opened: OpenedTrace): void {
    const { traceId, origin, lastSeq } = opened.row;
    if (this.#heads.get(traceId) === undefined) this.#heads.remember(traceId, opened.row);
    if (origin !== 'chat' && lastSeq === 1) this.#running.begin(this.#identityOf(traceId), opened);
  }

  async #commit(requests: readonly AppendRequest[]): Promise<AppendedGroup['results']> {
    const { results, heads } = await appendEvents(requests, this.#context).catch((error: unknown) => {
      // Another process may have written. The second try, one request at a time, reads the state of each trace.
      for (const { traceId } of requests) {
        this.#heads.forget(traceId);
        this.#running.forget(traceId);
      }
      throw error;
    });
    for (const [traceId, head] of heads) this.#heads.remember(traceId, head);
    for (const [index, result] of results.entries()) {
      const request = requests[index];
      if (request === undefined) continue;
      if (!Array.isArray(result)) {
        this.#running.forget(request.traceId);
        continue;
      }
      this.#running.add(request, result);
      this.#options.onWritten(request.traceId, result);
    }
    return results;
  }

  async #readUntil(traceId: string, lastSeq: number): ReturnType<AppendContext['readUntil']> {
    const running = this.#running.take(traceId, lastSeq);
    if (running !== undefined) return running;
    const queries = this.#database.kysely;
    const opened = await readTraceRow(queries, traceId);
    const projection = await readProjection(queries, this.#identityOf(traceId));
    return opened && projection && { ...opened, projection };
  }

  #identityOf(traceId: string) {
    return { traceId, traceUrl: this.#options.urlOf(traceId) };
  }
}
