import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { MAX_STEPS } from '../../contract/names.ts';
import { type Catalogue, createCatalogue } from '../../environment/client/catalogue.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import { EnvironmentPool } from '../../environment/client/pool/environment-pool.ts';
import { hashTargetCode } from '../../environment/client/pool/module-hash.ts';
import type { Models } from '../../models/gateway/create-model.ts';
import type { RolloutLimits } from '../../rollout/session/limits.ts';
import type { Database } from '../../store/database/database.ts';
import { RegisteredModels } from '../../store/models/registered-models.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import { endsWithin } from '../../support/runtime/deadline.ts';
import { assertRanges, SESSION_DEFAULTS } from './option-ranges.ts';
import { Scenarios } from './scenarios.ts';
import { failOrphans } from './session-orphans.ts';
import { SessionRecords } from './session-records.ts';
import { SessionRegistry } from './session-registry.ts';

export interface SessionEngineOptions {
  /** Environments by name. The name is the part before the colon in a scenario's full name. */
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly database: Database;
  readonly store: TraceStore;
  readonly models: Models;
  /** Default model of sessions. */
  readonly model: string;
  readonly logger: Logger;
  /** Default for the most steps of a turn. Default 100. */
  readonly maxSteps?: number | undefined;
  /** Milliseconds after the last turn until a session expires. Default 30 minutes. */
  readonly sessionTtlMs?: number | undefined;
  /** Most sessions that may be active at a time. Default 1,000. */
  readonly maxSessions?: number | undefined;
  /**
   * Connected processes of each environment that wait for sessions, once the environment was used. Each process serves
   * one session. Default 0.
   */
  readonly warmProcesses?: number | undefined;
  /** Shared processes of one environment. Default: the number of cores. */
  readonly hosts?: number | undefined;
  /** Milliseconds that a session may wait for a free process. Default 60,000. */
  readonly startTimeoutMs?: number | undefined;
  /** Pool that others share. Its creator closes it. Default: a pool of its own. */
  readonly pool?: EnvironmentPool | undefined;
  /** True starts the warm processes with the engine. Default false. */
  readonly isWarmAtStart?: boolean | undefined;
  /** For tests: limits of the parts of a session, and the clock. */
  readonly limits?: Partial<RolloutLimits> | undefined;
  readonly now?: (() => number) | undefined;
}

/** Holds the sessions of the scenario server or of a command. */
export interface SessionEngine {
  readonly catalogue: Catalogue;
  readonly scenarios: Scenarios;
  readonly registry: SessionRegistry;
  /** Processes of the environments. */
  readonly pool: EnvironmentPool;
  /**
   * Fails the sessions of servers that no longer run. The engine also does this from time to time. @returns how
   * many.
   */
  endOrphans(): Promise<number>;
  /**
   * Lets running turns end within `graceMs`, then fails every active session. Waits for their environments to close
   * until `limitMs`. Never rejects.
   */
  close(graceMs: number, limitMs?: number): Promise<void>;
}

/**
 * Creates an engine. The caller closes database and store after the engine.
 *
 * @throws TypeError for a number out of range.
 */
export function createSessionEngine(options: SessionEngineOptions): SessionEngine {
  assertRanges(options);
  const { environments, database, store, models, logger, now = Date.now } = options;
  const serverId = `scenarios_${process.pid}_${randomBytes(4).toString('hex')}`;
  const records = new SessionRecords(database, serverId, store.redactor);
  const pool = options.pool ?? createPool(options);
  const catalogue = createCatalogue(environments, { connect: (target, how) => pool.read(target, how) });
  const scenarios = new Scenarios(catalogue);
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
  const endOrphans = () => failOrphans(records, store);
  const watch = records.lease.watch({ isHolding: () => registry.size > 0, endGone: endOrphans, logger });
  if (options.isWarmAtStart) for (const target of environments.values()) pool.warm(target);
  return {
    catalogue,
    scenarios,
    registry,
    pool,
    endOrphans,
    async close(graceMs, limitMs) {
      pool.shutDown();
      // In this order, since sessions use the hosts.
      const closeSessions = async () => {
        await registry.close(graceMs);
        if (options.pool === undefined) await pool.close();
      };
      await endsWithin(Promise.all([closeSessions(), catalogue.close()]), limitMs);
      await watch.stop();
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
