import type { Database } from '../database/database.ts';
import { GroupCommit } from '../database/group-commit.ts';
import { untilWritten } from '../database/until-written.ts';
import { type AppendRequest, type EventWriter, isWritten } from './event-rows.ts';
import { insertTraceRows, type NewTraceRow } from './trace-rows.ts';
import type { Alongside } from './trace-store.ts';

interface CreateRequest {
  readonly row: NewTraceRow;
  readonly first: AppendRequest;
  readonly alongside: Alongside | undefined;
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
  readonly #creates: GroupCommit<CreateRequest, true>;

  constructor(database: Database, writer: EventWriter) {
    this.#database = database;
    this.#writer = writer;
    this.#creates = new GroupCommit((requests) => this.#commit(requests), { maxGroup: MAX_GROUP });
  }

  /** Resolves once the row, its first event and what is written alongside are committed. */
  async create(row: NewTraceRow, first: AppendRequest, alongside: Alongside | undefined): Promise<void> {
    await this.#creates.submit({ row, first, alongside });
  }

  async #commit(requests: readonly CreateRequest[]): Promise<readonly (true | Error)[]> {
    const numbered = requests.map(({ first }) => ({ request: first, lastSeq: 0 }));
    const written = requests.map(() => true as const);
    try {
      return await untilWritten(
        async () => {
          await this.#database.transaction(async (transaction) => {
            await insertTraceRows(
              this.#database,
              transaction,
              requests.map(({ row }) => row),
            );
            await this.#writer.insert(numbered, { transaction });
            await allOf(requests.map(({ alongside }) => alongside?.(transaction)));
          });
          return written;
        },
        { found: async () => ((await isWritten(this.#database.kysely, numbered[0])) ? written : undefined) },
      );
    } catch (error) {
      // One that is alone has had its try: what is refused alongside it is refused again.
      if (requests.length > 1 || !(error instanceof Error)) throw error;
      return [error];
    }
  }
}

/** Asked for in one moment, so that what writes the same for each can write it once for all; nothing goes on when it throws. */
async function allOf(works: readonly (Promise<void> | undefined)[]): Promise<void> {
  for (const done of await Promise.allSettled(works)) if (done.status === 'rejected') throw done.reason;
}
