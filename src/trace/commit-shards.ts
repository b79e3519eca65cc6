import type { Database } from '../database/database.ts';
import { GroupCommit } from '../database/group-commit.ts';

/**
 * Commits that run at the same time. SQLite has one writer, and its commit blocks this process. A commit on Postgres waits
 * for a round trip and its disk; the others need not wait for that.
 */
const SHARDS = { sqlite: 1, postgres: 4 } as const;

/** Group commits side by side. A trace always uses the same shard, so that its requests keep their order. */
export class CommitShards<Request extends { readonly traceId: string }, Result> {
  readonly #shards: readonly GroupCommit<Request, Result>[];

  /** @param commit like that of `GroupCommit`. */
  constructor(kind: Database['kind'], commit: (requests: readonly Request[]) => Promise<readonly (Result | Error)[]>) {
    this.#shards = Array.from({ length: SHARDS[kind] }, () => new GroupCommit(commit));
  }

  /** Resolves once the request is committed. */
  submit(request: Request): Promise<Result> {
    const shard = this.#shards[toNumber(request.traceId) % this.#shards.length];
    if (shard === undefined) throw new TypeError(`There is no shard for the trace ${request.traceId}`);
    return shard.submit(request);
  }
}

/** Always the same number for the same trace. Ids are random in every character. */
function toNumber(traceId: string): number {
  return traceId.charCodeAt(traceId.length - 1) || 0;
}
