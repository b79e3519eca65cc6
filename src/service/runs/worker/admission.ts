import { ApiError } from '../../../contract/errors.ts';
import type { EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import type { Agents } from '../../../rollout/agents/agents.ts';
import type { LeaseFilter } from '../../../store/queue/run-queue.ts';
import type { KeyClaims } from './key-claims.ts';

export interface AdmissionOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  /** Agents of this worker. Undefined: runs that name an agent are not taken. */
  readonly agents?: Pick<Agents, 'find'> | undefined;
  /** Gets a line for each missing environment or agent that a run needs, once until it is found. */
  readonly report?: ((line: string) => void) | undefined;
  /** Address of this process's server, for the texts of `report`. */
  readonly address?: string | undefined;
  /** Environments whose runs are taken. Undefined: all known ones. */
  readonly onlyEnvironments?: readonly string[] | undefined;
  /** Concurrent runs by environment. The target has a limit too, and the lower one counts. */
  readonly environmentConcurrency?: ReadonlyMap<string, number> | undefined;
  /** Concurrent runs of an environment without any other limit. Default: no limit. */
  readonly capacityOf?: ((target: EnvironmentTarget) => number) | undefined;
  /** Tells whether a process can take another run of the environment now. Default: always. */
  readonly hasRoom?: ((target: EnvironmentTarget) => boolean) | undefined;
  /** Returns those of the evaluations that are paused. Default: none. */
  readonly pausedAmong?: ((evaluationIds: readonly string[]) => Promise<ReadonlySet<string>>) | undefined;
  /** Limits of keys. Undefined: keys have no limits. */
  readonly claims?: KeyClaims | undefined;
  /** Monotonic clock in milliseconds; for tests. */
  readonly now?: () => number;
}

/** A leased run, as admission needs it. */
export interface Candidate {
  readonly traceId: string;
  readonly envName: string;
  readonly keyId: string | null;
  /** External agent that plays the run; null if the model plays by itself. */
  readonly agent: string | null;
  /** Evaluation of the run, if it is an attempt. */
  readonly evaluationId: string | null;
}

/** Most runs of one missing agent, or of one paused evaluation, that the lease filter excludes. */
const MAX_LEFT_OUT = 10_000;
/** Milliseconds until a full key is asked about again, unless one of its runs ends here before. */
const FULL_FOR_MS = 1_000;

/**
 * Decides which runs a worker may take now. It checks that environment and agent are present, and the limits of
 * environments and keys. A run that has to wait does not hold up others.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #now: () => number;
  /** Number of active runs here, by environment. */
  readonly #running = new Map<string, number>();
  /** Full keys, and the time until which they are assumed full. */
  readonly #fullKeys = new Map<string, number>();
  /** Missing environments of runs that were given back. */
  readonly #missingEnvironments = new Set<string>();
  /** Missing agents, with the traces of runs that were given back: queue entries do not name their agent. */
  readonly #missingAgents = new Map<string, Set<string>>();
  /** Paused evaluations, with the traces of runs that were given back. */
  readonly #paused = new Map<string, Set<string>>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The filter for the next lease. */
  filter(): LeaseFilter {
    const { onlyEnvironments } = this.#options;
    for (const [key, until] of this.#fullKeys) if (until <= this.#now()) this.#fullKeys.delete(key);
    this.#forgetFound();
    const full = [...this.#running]
      .filter(([name, count]) => count >= this.#limitOf(name) || !this.#hasRoom(name))
      .map(([name]) => name);
    const exceptEnvironments = [...full, ...this.#missingEnvironments];
    const leftOut = [...this.#missingAgents.values(), ...this.#paused.values()];
    const exceptTraces = leftOut.flatMap((traces) => [...traces]);
    return {
      ...(onlyEnvironments === undefined ? {} : { onlyEnvironments }),
      ...(exceptEnvironments.length === 0 ? {} : { exceptEnvironments }),
      ...(this.#fullKeys.size === 0 ? {} : { exceptKeys: [...this.#fullKeys.keys()] }),
      ...(exceptTraces.length === 0 ? {} : { exceptTraces }),
    };
  }

  /** Reads which evaluations are paused, among those of the candidates and those of given-back runs. */
  async readPaused(candidates: readonly Candidate[] = []): Promise<void> {
    const asked = new Set(this.#paused.keys());
    for (const { evaluationId } of candidates) if (evaluationId !== null) asked.add(evaluationId);
    if (asked.size === 0) return;
    const paused = await this.#options.pausedAmong?.([...asked]);
    for (const id of asked) {
      if (!paused?.has(id)) this.#paused.delete(id);
      else if (!this.#paused.has(id)) this.#paused.set(id, new Set());
    }
  }

  /** Admits the run and counts it; the caller must call `leave` at its end. @returns false if the run has to wait. */
  async admit(candidate: Candidate): Promise<boolean> {
    const { traceId, envName, keyId } = candidate;
    const { onlyEnvironments, claims } = this.#options;
    if (this.#isMissing(candidate) || this.#isPaused(candidate)) return false;
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

  async leave({ traceId, envName, keyId }: Omit<Candidate, 'agent' | 'evaluationId'>): Promise<void> {
    this.#leaveEnvironment(envName);
    await this.#options.claims?.release(traceId);
    if (keyId !== null) this.#fullKeys.delete(keyId);
  }

  /** True if this process lacks the environment or agent of the run. Other workers may have it. */
  #isMissing({ traceId, envName, agent }: Candidate): boolean {
    if (!this.#options.environments.has(envName)) {
      if (!this.#missingEnvironments.has(envName)) this.#tell('environment', envName);
      this.#missingEnvironments.add(envName);
      return true;
    }
    if (agent === null || this.#hasAgent(agent)) return false;
    const known = this.#missingAgents.get(agent);
    if (known === undefined) this.#tell('agent', agent);
    const traces = known ?? new Set();
    leaveOut(traces, traceId);
    this.#missingAgents.set(agent, traces);
    return true;
  }

  #isPaused({ traceId, evaluationId }: Candidate): boolean {
    const traces = evaluationId === null ? undefined : this.#paused.get(evaluationId);
    if (traces !== undefined) leaveOut(traces, traceId);
    return traces !== undefined;
  }

  #forgetFound(): void {
    for (const name of this.#missingEnvironments) {
      if (this.#options.environments.has(name)) this.#missingEnvironments.delete(name);
    }
    for (const name of this.#missingAgents.keys()) if (this.#hasAgent(name)) this.#missingAgents.delete(name);
  }

  #hasAgent(name: string): boolean {
    try {
      return this.#options.agents?.find(name) !== undefined;
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  }

  #tell(what: 'environment' | 'agent', name: string): void {
    const { report, address } = this.#options;
    const here = `process ${process.pid}${address === undefined ? '' : ` at ${address}`}`;
    const places = what === 'environment' ? 'environments/ or proctor.config.ts' : 'proctor.config.ts';
    report?.(
      `Runs of the ${what} ${JSON.stringify(name)} wait for another worker, because ${here} does not have it: add it to ${places} there, or start "proctor worker" in a folder that has it.`,
    );
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

function leaveOut(traces: Set<string>, traceId: string): void {
  if (traces.size >= MAX_LEFT_OUT) traces.clear();
  traces.add(traceId);
}
