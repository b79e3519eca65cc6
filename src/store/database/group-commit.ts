import { loopSlices } from '../../support/runtime/loop-slices.ts';
import { ConnectionLostError } from './store-errors.ts';

/**
 * Largest number of requests in one transaction. Later requests wait for the next one, so that other processes get a
 * turn.
 */
const MAX_GROUP = 1_000;

/**
 * Commits together the requests of one turn of the event loop. There is no timer: a single request is committed at the
 * end of its turn, and requests that arrive during a commit form the next group.
 */
export class GroupCommit<Request, Result> {
  readonly #commit: (requests: readonly Request[]) => Promise<readonly (Result | Error)[]>;
  readonly #maxGroup: number;
  #waiting: PendingRequest<Request, Result>[] = [];
  #isRunning = false;

  /**
   * @param commit runs one transaction. It returns one result for each request, an Error for a request that was
   * refused.
   * When it throws, nothing of the group was written. Each request is then tried once more alone, unless the database
   * is away.
   */
  constructor(
    commit: (requests: readonly Request[]) => Promise<readonly (Result | Error)[]>,
    { maxGroup = MAX_GROUP }: { readonly maxGroup?: number } = {},
  ) {
    this.#commit = commit;
    this.#maxGroup = maxGroup;
  }

  /** Resolves once the request is committed; requests are committed in the order in which they were submitted. */
  submit(request: Request): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      if (this.#isRunning) return;
      this.#isRunning = true;
      this.#schedule();
    });
  }

  #schedule(): void {
    setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    const group = this.#waiting.splice(0, this.#maxGroup);
    const failure = await this.#settle(group);
    if (failure?.error instanceof ConnectionLostError) {
      for (const each of group) each.reject(failure.error); // Each of them has waited as long as the group did.
    } else if (failure !== undefined) {
      for (const single of group) {
        const own = await this.#settle([single]);
        if (own !== undefined) single.reject(own.error);
      }
    }
    if (this.#waiting.length > 0) this.#schedule();
    else this.#isRunning = false;
  }

  /** @returns the error if nothing of the group was written; undefined when every request is settled. */
  async #settle(group: readonly PendingRequest<Request, Result>[]): Promise<{ readonly error: unknown } | undefined> {
    let results: readonly (Result | Error)[];
    try {
      results = await this.#commit(group.map(({ request }) => request));
    } catch (error) {
      return { error };
    }
    for (const [index, { resolve, reject }] of group.entries()) {
      const result = results[index];
      // A result may resume hundreds of sessions.
      loopSlices.run(() => (result === undefined || result instanceof Error ? reject(result) : resolve(result)));
    }
    return undefined;
  }
}

interface PendingRequest<Request, Result> {
  readonly request: Request;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}
