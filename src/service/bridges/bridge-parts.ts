import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import { type Catalogue, createCatalogue } from '../../environment/client/catalogue.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import { EnvironmentPool } from '../../environment/client/pool/environment-pool.ts';
import { addPoolMetrics } from '../../environment/client/pool/pool-metrics.ts';
import { createHttpMetrics } from '../../support/http/metrics.ts';
import type { BridgeServerOptions } from './bridge-server-options.ts';
import { Episodes, type EpisodesOptions } from './episodes.ts';

type OwnOptions = Pick<EpisodesOptions, 'origin' | 'lookEveryMs' | 'maxCalls'> & {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
};

/** Parts that a server of either protocol stands on. Its maker closes them. */
export interface BridgeParts {
  readonly pool: EnvironmentPool;
  readonly catalogue: Catalogue;
  readonly episodes: Episodes;
  readonly metrics: ReturnType<typeof createHttpMetrics>;
  readonly maxSessions: number;
  readonly sessionTtlMs: number;
  /** Milliseconds that the server may take to close. */
  readonly graceMs: number;
  /** Ends the sessions of servers that are gone as failed. */
  endOrphans(): Promise<void>;
  close(): Promise<void>;
}

const DEFAULTS = { maxSessions: 1_000, sessionTtlMs: 15 * 60_000 } as const;
/** Share of the budget for evaluations that go on. */
const PATIENT_SHARE = 0.45;

export function createBridgeParts(options: BridgeServerOptions, own: OwnOptions): BridgeParts {
  const { logger } = options;
  const { maxSessions = DEFAULTS.maxSessions, sessionTtlMs = DEFAULTS.sessionTtlMs } = options;
  const graceMs = options.shutdownGraceMs ?? SHUTDOWN_GRACE_MS.service;
  const pool = new EnvironmentPool({
    perEnvironment: 0,
    hosts: options.hosts,
    startTimeoutMs: options.startTimeoutMs,
    report: (line) => logger.warn(line),
  });
  const catalogue = createCatalogue(own.environments, { connect: (target, how) => pool.read(target, how) });
  const episodes = new Episodes({ ...options, ...own, pool, maxSessions, sessionTtlMs });
  const metrics = createHttpMetrics();
  const stopMetrics = addPoolMetrics(metrics.registry, pool, own.environments);
  return {
    pool,
    catalogue,
    episodes,
    metrics,
    maxSessions,
    sessionTtlMs,
    graceMs,
    async endOrphans() {
      const failed = await episodes.endOrphans();
      if (failed > 0) logger.warn({ sessions: failed }, 'Sessions of a server that is gone were ended as failed');
    },
    async close() {
      await episodes.close(graceMs * PATIENT_SHARE);
      await Promise.all([catalogue.close(), pool.close()]);
      stopMetrics();
    },
  };
}
