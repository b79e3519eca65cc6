import type { Logger } from 'pino';
import type { Catalogue } from '../../environment/client/catalogue.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import type { EnvironmentPool } from '../../environment/client/pool/environment-pool.ts';
import type { Models } from '../../models/gateway/create-model.ts';
import { createModelMount } from '../../rollout/seats/model-endpoint/model-mount.ts';
import { createSeatMount, type SeatDoors } from '../../rollout/seats/seat-mount.ts';
import { SeatOwners } from '../../rollout/seats/seat-owners.ts';
import { Seats, type SeatsOptions } from '../../rollout/seats/seats.ts';
import type { Database } from '../../store/database/database.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import type { Mount, Route } from '../../support/http/api/route.ts';
import { createSeatRoutes } from './routes/seat-routes.ts';
import { createCancelWatch } from './worker/cancel-watch.ts';
import { claimForSeat, releaseSeatClaim } from './worker/key-claims.ts';

/** For tests: idle time and limits of seats. */
export type SeatSettings = Pick<SeatsOptions, 'idleMs' | 'lookEveryMs' | 'timing'> & {
  /** Milliseconds between two lookups of the owners of seats. */
  readonly lookForOwnersMs?: number;
};

export interface SeatServiceOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly database: Database;
  readonly store: TraceStore;
  readonly catalogue: Catalogue;
  readonly models: Pick<Models, 'createForAgent' | 'create' | 'harness' | 'check'>;
  readonly logger: Logger;
  readonly appUrl: string;
  readonly now: () => number;
  readonly seats?: SeatSettings | undefined;
  /** Pool that runs use too. Its creator closes it. */
  readonly pool: EnvironmentPool;
}

/** The seats of a service and what they need. The creator closes it. */
export interface SeatService {
  readonly seats: Seats;
  readonly routes: readonly Route[];
  readonly mounts: readonly Mount[];
  /** Sets the address at which agents reach the seats. Default: the address of the request or of the pages. */
  serveAt(url: string): void;
  /** Fails open seats. Running evaluations may end within `graceMs`. Never rejects. */
  close(graceMs: number): Promise<void>;
}

export function createSeatService(options: SeatServiceOptions): SeatService {
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
  const owners = new SeatOwners({
    database,
    ownerId: seats.ownerId,
    logger,
    lookEveryMs: options.seats?.lookForOwnersMs,
  });
  let base: string | undefined;
  const doors: SeatDoors = {
    find: (secret) => seats.doorOf(secret),
    elsewhere: (request, response, secret) => owners.answer(request, response, secret),
  };
  return {
    seats,
    routes: createSeatRoutes({ ...options, seats, owners, base: () => base }),
    mounts: [createSeatMount(doors, (line) => logger.warn(line)), createModelMount(doors)],
    serveAt(url) {
      base = url;
    },
    async close(graceMs) {
      await seats.close(graceMs);
      cancels.close();
      owners.close();
    },
  };
}
