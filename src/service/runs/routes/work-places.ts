import { ApiError } from '../../../contract/errors.ts';

export interface WorkPlacesOptions {
  /** Most works at a time, for all accounts. */
  readonly most: number;
  /** The work that is under way, such as "A file is being imported". */
  readonly underWay: string;
  /** The work that a service does, such as "imports 2 files". */
  readonly atOnce: string;
}

/** Places for work that takes memory, processes or turns of the event loop, which all requests share. */
export class WorkPlaces {
  readonly #options: WorkPlacesOptions;
  readonly #accounts = new Set<string>();

  constructor(options: WorkPlacesOptions) {
    this.#options = options;
  }

  /**
   * Takes the one place of an account. Disposing gives it back.
   *
   * @throws ApiError quota_exceeded while the account has its place, capacity_exceeded when all places are taken.
   */
  take(account: string): Disposable {
    const { most, underWay, atOnce } = this.#options;
    const headers = { 'retry-after': '5' };
    if (this.#accounts.has(account)) {
      const message = `${underWay} for this account already: send the next request when that is done.`;
      throw new ApiError('quota_exceeded', message, { headers });
    }
    if (this.#accounts.size >= most) {
      const message = `This service ${atOnce} at a time, and is at that limit: try again in a moment.`;
      throw new ApiError('capacity_exceeded', message, { headers });
    }
    this.#accounts.add(account);
    return { [Symbol.dispose]: () => void this.#accounts.delete(account) };
  }
}
