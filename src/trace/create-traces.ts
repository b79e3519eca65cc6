import type { EventBody, EventOf, TraceEvent } from '../contract/event.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import { GroupCommit } from '../database/group-commit.ts';
import { untilWritten } from '../database/until-written.ts';
import { type AppendRequest, type EncodedEvent, type EventWriter, isWritten, toEvents } from './event-rows.ts';
import { insertTraceRows, type NewTraceRow } from './trace-rows.ts';
import type { Alongside, Chosen, NewTrace } from './trace-store.ts';

interface PreparedTrace {
  readonly row: NewTraceRow;
  readonly first: AppendRequest;
}

interface CreateRequest extends PreparedTrace {
  readonly alongside: Alongside | undefined;
}

export interface TraceCreatorOptions {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Takes secrets out. */
  readonly encode: <Body extends EventBody>(body: Body) => EncodedEvent<Body>;
  /** Told of each trace once it is durable. It never throws. */
  readonly onCreated: (traceId: string, events: readonly TraceEvent[]) => void;
}

/** Traces of one transaction at most: those that come meanwhile wait for all of it. */
const MAX_GROUP = 100;

/**
 * Writes new traces, those of one moment in one transaction: each has to reach the disk before it is accepted, which
 * takes as long for a hundred of them as for one.
 */
export class TraceCreator {
  readonly #database: Database;
  readonly #writer: EventWriter;
  readonly #options: TraceCreatorOptions;
  readonly #creates: GroupCommit<CreateRequest, true>;

  constructor(database: Database, writer: EventWriter, options: TraceCreatorOptions) {
    this.#database = database;
    this.#writer = writer;
    this.#options = options;
    this.#creates = new GroupCommit((requests) => this.#commit(requests), { maxGroup: MAX_GROUP });
  }

  /** Resolves once the row, its first event and what is written alongside are committed. */
  async create(trace: NewTrace, alongside: Alongside | undefined): Promise<void> {
    const prepared = this.#prepare(trace);
    await this.#creates.submit({ ...prepared, alongside });
    this.#tell([prepared]);
  }

  /** As `TraceStore.createChosen`. */
  async createChosen(choose: (transaction: DatabaseTransaction) => Promise<Chosen>): Promise<number> {
    const created = await this.#database.transaction(async (transaction) => {
      const { traces, alongside } = await choose(transaction);
      const prepared = traces.map((trace) => this.#prepare(trace));
      await this.#insert(prepared, transaction);
      await alongside?.(transaction);
      return prepared;
    });
    this.#tell(created);
    return created.length;
  }

  #prepare({ traceId, account, keyId = null, queued }: NewTrace): PreparedTrace {
    const at = this.#options.now();
    const body: EventOf<'run.queued'> = { type: 'run.queued', ...queued, previous_end: null };
    const event = this.#options.encode(body);
    return {
      first: { traceId, attempt: 1, at, events: [event] },
      row: { traceId, account, keyId, createdAt: at, request: body, shown: event.body },
    };
  }

  #tell(created: readonly PreparedTrace[]): void {
    for (const { first } of created) this.#options.onCreated(first.traceId, toEvents(first, 0));
  }

  async #insert(traces: readonly PreparedTrace[], transaction: DatabaseTransaction): Promise<void> {
    if (traces.length === 0) return;
    await insertTraceRows(
      this.#database,
      transaction,
      traces.map(({ row }) => row),
    );
    await this.#writer.insert(toNumbered(traces), { transaction });
  }

  async #commit(requests: readonly CreateRequest[]): Promise<readonly (true | Error)[]> {
    const written = requests.map(() => true as const);
    try {
      return await untilWritten(
        async () => {
          await this.#database.transaction(async (transaction) => {
            await this.#insert(requests, transaction);
            await allOf(requests.map(({ alongside }) => alongside?.(transaction)));
          });
          return written;
        },
        {
          found: async () => ((await isWritten(this.#database.kysely, toNumbered(requests)[0])) ? written : undefined),
        },
      );
    } catch (error) {
      // One that is alone has had its try: what is refused alongside it is refused again.
      if (requests.length > 1 || !(error instanceof Error)) throw error;
      return [error];
    }
  }
}

function toNumbered(traces: readonly PreparedTrace[]) {
  return traces.map(({ first }) => ({ request: first, lastSeq: 0 }));
}

/** Asked for in one moment, so that what writes the same for each can write it once for all; nothing goes on when it throws. */
async function allOf(works: readonly (Promise<void> | undefined)[]): Promise<void> {
  for (const done of await Promise.allSettled(works)) if (done.status === 'rejected') throw done.reason;
}
