import type { EventBody, EventOf, TraceEvent } from '../../contract/service/event.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import { GroupCommit } from '../database/group-commit.ts';
import { untilWritten } from '../database/until-written.ts';
import { type AppendRequest, type EncodedEvent, type EventWriter, isWritten, toEvents } from './rows/event-rows.ts';
import { insertTraceRows, type NewTraceRow } from './rows/trace-rows.ts';
import type { Alongside, Chosen, NewTrace } from './trace-store.ts';

interface PreparedTrace {
  readonly row: NewTraceRow;
  readonly first: AppendRequest;
}

interface CreateRequest extends PreparedTrace {
  readonly inTransaction: Alongside | undefined;
}

export interface TraceCreatorOptions {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Removes secrets from an event and encodes it. */
  readonly encode: <Body extends EventBody>(body: Body) => EncodedEvent<Body>;
  /** Called for each trace once it is durable. It must not throw. */
  readonly onCreated: (traceId: string, events: readonly TraceEvent[]) => void;
}

/** Largest number of traces in one transaction. Later requests wait for all of it. */
const MAX_GROUP = 100;

/**
 * Creates traces, grouping concurrent requests into one transaction. Each has to reach the disk before it is accepted,
 * and a hundred take as long as one.
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

  /** Resolves once the row, its first event and the writes of `inTransaction` are committed. */
  async create(trace: NewTrace, inTransaction: Alongside | undefined): Promise<void> {
    const prepared = this.#prepare(trace);
    await this.#creates.submit({ ...prepared, inTransaction });
    this.#tell([prepared]);
  }

  /** As `TraceStore.createChosen`. */
  async createChosen(choose: (transaction: DatabaseTransaction) => Promise<Chosen>): Promise<number> {
    const created = await this.#database.transaction(async (transaction) => {
      const { traces, inTransaction } = await choose(transaction);
      const prepared = traces.map((trace) => this.#prepare(trace));
      await this.#insert(prepared, transaction);
      await inTransaction?.(transaction);
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
            await allOf(requests.map(({ inTransaction }) => inTransaction?.(transaction)));
          });
          return written;
        },
        {
          found: async () => ((await isWritten(this.#database.kysely, toNumbered(requests)[0])) ? written : undefined),
        },
      );
    } catch (error) {
      // A request that ran alone is not tried again: `inTransaction` would refuse it again.
      if (requests.length > 1 || !(error instanceof Error)) throw error;
      return [error];
    }
  }
}

function toNumbered(traces: readonly PreparedTrace[]) {
  return traces.map(({ first }) => ({ request: first, lastSeq: 0 }));
}

/** Starts all works at once, so that they can share writes, and waits for all of them even if one throws. */
async function allOf(works: readonly (Promise<void> | undefined)[]): Promise<void> {
  for (const done of await Promise.allSettled(works)) if (done.status === 'rejected') throw done.reason;
}
