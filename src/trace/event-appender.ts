import type { TraceEvent } from '../contract/event.ts';
import type { Database } from '../database/database.ts';
import { GroupCommit } from '../database/group-commit.ts';
import { type AppendContext, type AppendedGroup, appendEvents } from './append-events.ts';
import { EndRows } from './end-rows.ts';
import { type AppendRequest, type EventWriter, readProjection } from './event-rows.ts';
import { RunningTraces } from './running-traces.ts';
import { type TraceHead, TraceHeads } from './trace-heads.ts';
import { type OpenedTrace, readTraceRow } from './trace-rows.ts';

export interface EventAppenderOptions {
  readonly urlOf: (traceId: string) => string;
  /** Told of what is durable, in order. It never throws. */
  readonly onWritten: (traceId: string, events: readonly TraceEvent[]) => void;
}

/**
 * Groups that are committed side by side. SQLite has one writer, and its commit blocks this process. A commit on Postgres
 * waits for a round trip and its disk; the others need not wait for that.
 */
const GROUPS = { sqlite: 1, postgres: 4 } as const;

/** Appends events to traces in groups, and remembers of these traces what the next append would else have to read. */
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

  /** Resolves once it is durable. @throws AttemptSupersededError where the attempt is not the current one any more. */
  append(request: AppendRequest): Promise<readonly TraceEvent[]> {
    // A trace always has the same group, so that its requests keep their order. Ids are random in every character.
    const group = this.#groups[(request.traceId.charCodeAt(request.traceId.length - 1) || 0) % this.#groups.length];
    if (group === undefined) throw new TypeError(`There is no group for the trace ${request.traceId}`);
    return group.submit(request);
  }

  /** Where a trace stands after a commit of others. */
  stands(traceId: string, head: TraceHead): void {
    this.#heads.remember(traceId, head);
  }

  /** A reader of a trace's row may write next. A head that is remembered may be newer than the row that was read. */
  opened(opened: OpenedTrace): void {
    const { traceId, origin, lastSeq } = opened.row;
    if (this.#heads.get(traceId) === undefined) this.#heads.remember(traceId, opened.row);
    if (origin !== 'chat' && lastSeq === 1) this.#running.begin(this.#identityOf(traceId), opened);
  }

  async #commit(requests: readonly AppendRequest[]): Promise<AppendedGroup['results']> {
    const { results, heads } = await appendEvents(requests, this.#context).catch((error: unknown) => {
      // Another process may have written since: the second try, of each alone, reads where its trace stands.
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
