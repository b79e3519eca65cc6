import type { Database } from '../database/database.ts';
import { GroupCommit } from './group-commit.ts';

/**
 * Commits at once. SQLite has one writer, and a commit of it blocks this process; a commit on Postgres is a
 * round trip and a wait for its disk, during which others need not wait.
 */
const LANES = { sqlite: 1, postgres: 4 } as const;

/** Group commits side by side. A trace is always in the same one, so that its requests stay in their order. */
export class CommitLanes<Request extends { readonly traceId: string }, Result> {
  readonly #lanes: readonly GroupCommit<Request, Result>[];

  /** @param commit as that of `GroupCommit`. */
  constructor(kind: Database['kind'], commit: (requests: readonly Request[]) => Promise<readonly (Result | Error)[]>) {
    this.#lanes = Array.from({ length: LANES[kind] }, () => new GroupCommit(commit));
  }

  /** Resolves once the request is committed. */
  submit(request: Request): Promise<Result> {
    const lane = this.#lanes[toNumber(request.traceId) % this.#lanes.length];
    if (lane === undefined) throw new TypeError(`There is no lane for the trace ${request.traceId}`);
    return lane.submit(request);
  }
}

/** Any that is the same each time; ids are random in every character. */
function toNumber(traceId: string): number {
  return traceId.charCodeAt(traceId.length - 1) || 0;
}
