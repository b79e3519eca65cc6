import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { type Catalogue, createCatalogue } from '../client/catalogue.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { EnvironmentPool } from '../client/environment-pool.ts';
import { hashTargetCode } from '../client/module-hash.ts';
import { MAX_STEPS } from '../contract/names.ts';
import type { Database } from '../database/database.ts';
import type { Models } from '../model/create-model.ts';
import { RegisteredModels } from '../model/registered-models.ts';
import type { RolloutLimits } from '../rollout/limits.ts';
import { endsWithin } from '../runtime/deadline.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { assertRanges, SESSION_DEFAULTS } from './option-ranges.ts';
import { Scenarios } from './scenarios.ts';
import { failOrphans, startBeat, watchOrphans } from './session-orphans.ts';
import { SessionRecords } from './session-records.ts';
import { SessionRegistry } from './session-registry.ts';

export interface SessionEngineOptions {
  /** By the names that stand before the colon of a scenario's full name. */
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly database: Database;
  readonly store: TraceStore;
  readonly models: Models;
  /** Default model of sessions. */
  readonly model: string;
  readonly logger: Logger;
  /** Default limit of a turn. Default 100. */
  readonly maxSteps?: number | undefined;
  /** Milliseconds since the end of the last turn. Default 30 minutes. */
  readonly sessionTtlMs?: number | undefined;
  /** Active at a time. Default 1,000. */
  readonly maxSessions?: number | undefined;
  /**
   * Processes that wait, connected, for the sessions of each environment that runs in one, once it was asked for. Each
   * serves one session. Default 0.
   */
  readonly warmProcesses?: number | undefined;
  /** Processes of one environment whose sessions share them. Default: the number of cores. */
  readonly hosts?: number | undefined;
  /** Milliseconds that a session may wait for a process. Default 60,000. */
  readonly startTimeoutMs?: number | undefined;
  /** Processes that others use too. Whoever made it closes it. Default: a pool of its own. */
  readonly pool?: EnvironmentPool | undefined;
  /** True: they are started with the engine. Default false. */
  readonly isWarmAtStart?: boolean | undefined;
  /** For tests: what each part of a session may take, and the clock. */
  readonly limits?: Partial<RolloutLimits> | undefined;
  readonly now?: (() => number) | undefined;
}

/** Holds sessions for the scenario server or for a command. */
export interface SessionEngine {
  readonly catalogue: Catalogue;
  readonly scenarios: Scenarios;
  readonly registry: SessionRegistry;
  /** Processes that wait for sessions. */
  readonly pool: EnvironmentPool;
  /** Ends the sessions of servers that are gone as failed, now and from now on. @returns how many there are now. */
  endOrphans(): Promise<number>;
  /**
   * Lets what runs end within `graceMs`; then every session that is active fails, and its environment is closed, which
   * is waited for until `limitMs` are over. Never rejects.
   */
  close(graceMs: number, limitMs?: number): Promise<void>;
}

/**
 * Database and store are closed by whoever opened them, after the engine.
 *
 * @throws TypeError for a number that cannot be meant.
 */
export function createSessionEngine(options: SessionEngineOptions): SessionEngine {
  assertRanges(options);
  const { environments, database, store, models, logger, now = Date.now } = options;
  const serverId = `scenarios_${process.pid}_${randomBytes(4).toString('hex')}`;
  const records = new SessionRecords(database, serverId, store.redactor);
  const pool = options.pool ?? createPool(options);
  const catalogue = createCatalogue(environments, { connect: (target, how) => pool.read(target, how) });
  const scenarios = new Scenarios(catalogue, [...environments.keys()]);
  const registry = new SessionRegistry({
    store,
    records,
    scenarios,
    models,
    registered: new RegisteredModels(database),
    logger,
    serverId,
    connect: (environment, connectOptions) => pool.connect(targetOf(environments, environment), connectOptions),
    hashOf: (environment) => hashTargetCode(targetOf(environments, environment)),
    defaults: { model: options.model, maxSteps: options.maxSteps ?? MAX_STEPS.default },
    maxSessions: options.maxSessions ?? SESSION_DEFAULTS.maxSessions,
    sessionTtlMs: options.sessionTtlMs ?? SESSION_DEFAULTS.sessionTtlMs,
    limits: options.limits,
    now,
  });
  const stopBeat = startBeat({ records, logger, count: () => registry.size });
  let stopWatch = () => {};
  if (options.isWarmAtStart) for (const target of environments.values()) pool.warm(target);
  return {
    catalogue,
    scenarios,
    registry,
    pool,
    async endOrphans() {
      const count = await failOrphans({ records, store });
      stopWatch = watchOrphans({ records, store, logger });
      return count;
    },
    async close(graceMs, limitMs) {
      stopWatch();
      await endsWithin(
        Promise.all([registry.close(graceMs), catalogue.close(), options.pool === undefined && pool.close()]),
        limitMs,
      );
      stopBeat();
    },
  };
}

function createPool({ warmProcesses, hosts, startTimeoutMs, logger }: SessionEngineOptions): EnvironmentPool {
  const report = (line: string) => logger.warn(line);
  return new EnvironmentPool({ perEnvironment: warmProcesses ?? 0, hosts, startTimeoutMs, report });
}

function targetOf(environments: ReadonlyMap<string, EnvironmentTarget>, name: string): EnvironmentTarget {
  const target = environments.get(name);
  if (target === undefined) throw new TypeError(`There is no environment ${name}`);
  return target;
}
