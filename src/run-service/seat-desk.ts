import type { Logger } from 'pino';
import type { Catalogue } from '../client/catalogue.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import type { EnvironmentPool } from '../client/environment-pool.ts';
import type { Database } from '../database/database.ts';
import type { Mount, Route } from '../http/route.ts';
import { createSeatMount } from '../seats/seat-mount.ts';
import { Seats, type SeatsOptions } from '../seats/seats.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { createCancelWatch } from './cancel-watch.ts';
import { claimForSeat, releaseSeatClaim } from './key-claims.ts';
import { createSeatRoutes } from './seat-routes.ts';

/** For tests: when a seat is idle. */
export type SeatSettings = Pick<SeatsOptions, 'idleMs' | 'lookEveryMs'>;

export interface SeatDeskOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly database: Database;
  readonly store: TraceStore;
  readonly catalogue: Catalogue;
  readonly logger: Logger;
  readonly appUrl: string;
  readonly now: () => number;
  readonly seats?: SeatSettings | undefined;
  /** Processes that runs use too. Whoever made it closes it. */
  readonly pool: EnvironmentPool;
}

/** Everything about seats that a service has. Whoever made it closes it. */
export interface SeatDesk {
  readonly seats: Seats;
  readonly routes: readonly Route[];
  readonly mount: Mount;
  /** Fails the seats that are open; evaluations that go on may end within `graceMs`. Never rejects. */
  close(graceMs: number): Promise<void>;
}

export function createSeatDesk(options: SeatDeskOptions): SeatDesk {
  const { database, store, logger } = options;
  const cancels = createCancelWatch(store, (error) => {
    logger.warn({ err: error }, 'Cancelled seats could not be looked for');
  });
  const seats = new Seats({
    ...options,
    ...options.seats,
    claim: (transaction, traceId, keyId) => claimForSeat(database, transaction, { traceId, keyId }),
    release: (traceId) => releaseSeatClaim(database, traceId),
    watchCancel: (traceId, onCancel) => cancels.watch(traceId, onCancel),
  });
  return {
    seats,
    routes: createSeatRoutes({ ...options, seats }),
    mount: createSeatMount({ find: (secret) => seats.doorOf(secret) }, (line) => logger.warn(line)),
    async close(graceMs) {
      await seats.close(graceMs);
      cancels.close();
    },
  };
}
