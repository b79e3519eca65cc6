import type { EnvironmentTarget } from '../client/environment-client.ts';
import type { LeaseFilter } from '../queue/run-queue.ts';
import type { KeyClaims } from './key-claims.ts';

export interface AdmissionOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  /** Names of the environments whose runs are taken; undefined: all. */
  readonly onlyEnvironments?: readonly string[] | undefined;
  /** Runs at once of environments, by name, beside what their targets say; the lower one counts. */
  readonly environmentConcurrency?: ReadonlyMap<string, number> | undefined;
  /** Runs at once of an environment, where nothing else says so. Default: no limit. */
  readonly capacityOf?: ((target: EnvironmentTarget) => number) | undefined;
  /** Whether a process would take another run of the environment now. Default: always. */
  readonly hasRoom?: ((target: EnvironmentTarget) => boolean) | undefined;
  /** Undefined: keys have no limits. */
  readonly claims?: KeyClaims | undefined;
  /** Milliseconds of a clock that does not jump; for tests. */
  readonly now?: () => number;
}

/** A run that a worker has leased, as admission sees it. */
export interface Candidate {
  readonly traceId: string;
  readonly envName: string;
  readonly keyId: string | null;
}

/** How long a key that had no place is not asked about again, where none of its runs ends here meanwhile. Milliseconds. */
const FULL_FOR_MS = 1_000;

/**
 * Which runs a worker may take now: those of its environments, no more of each at once than it may have here, and no
 * more of each key than that may have in all. What has to wait keeps nobody else waiting.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #now: () => number;
  /** Runs of each environment that go on here. */
  readonly #running = new Map<string, number>();
  /** Keys that had no place when they were last asked about, and until when that is believed. */
  readonly #fullKeys = new Map<string, number>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The filter for the next lease. */
  filter(): LeaseFilter {
    const { onlyEnvironments } = this.#options;
    for (const [key, until] of this.#fullKeys) if (until <= this.#now()) this.#fullKeys.delete(key);
    const full = [...this.#running]
      .filter(([name, count]) => count >= this.#limitOf(name) || !this.#hasRoom(name))
      .map(([name]) => name);
    return {
      ...(onlyEnvironments === undefined ? {} : { onlyEnvironments }),
      ...(full.length === 0 ? {} : { exceptEnvironments: full }),
      ...(this.#fullKeys.size === 0 ? {} : { exceptKeys: [...this.#fullKeys.keys()] }),
    };
  }

  /** Gives the run its place; whoever was admitted leaves. @returns false where it has to wait. */
  async admit({ traceId, envName, keyId }: Candidate): Promise<boolean> {
    const { onlyEnvironments, claims } = this.#options;
    const count = this.#running.get(envName) ?? 0;
    if (count >= this.#limitOf(envName) || !this.#hasRoom(envName) || onlyEnvironments?.includes(envName) === false)
      return false;
    this.#running.set(envName, count + 1);
    try {
      if (claims === undefined || (await claims.claim({ traceId, keyId }))) return true;
    } catch (error) {
      this.#leaveEnvironment(envName);
      throw error;
    }
    this.#leaveEnvironment(envName);
    if (keyId !== null) this.#fullKeys.set(keyId, this.#now() + FULL_FOR_MS);
    return false;
  }

  async leave({ traceId, envName, keyId }: Candidate): Promise<void> {
    this.#leaveEnvironment(envName);
    await this.#options.claims?.release(traceId);
    if (keyId !== null) this.#fullKeys.delete(keyId);
  }

  #leaveEnvironment(name: string): void {
    const count = (this.#running.get(name) ?? 0) - 1;
    if (count > 0) this.#running.set(name, count);
    else this.#running.delete(name);
  }

  #limitOf(name: string): number {
    const { environments, environmentConcurrency, capacityOf } = this.#options;
    const target = environments.get(name);
    const set = environmentConcurrency?.get(name);
    const configured = target?.limits?.concurrency;
    if (set !== undefined || configured !== undefined) return Math.min(set ?? Infinity, configured ?? Infinity);
    return target === undefined || capacityOf === undefined ? Number.POSITIVE_INFINITY : capacityOf(target);
  }

  #hasRoom(name: string): boolean {
    const { environments, hasRoom } = this.#options;
    const target = environments.get(name);
    return target === undefined || hasRoom === undefined || hasRoom(target);
  }
}
