import type { Logger } from 'pino';
import type { Catalogue } from '../client/catalogue.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import type { EnvironmentPool } from '../client/environment-pool.ts';
import type { Database } from '../database/database.ts';
import type { Mount, Route } from '../http/route.ts';
import type { Models } from '../model/create-model.ts';
import { createModelMount } from '../seats/model-mount.ts';
import { createSeatMount, type SeatDoors } from '../seats/seat-mount.ts';
import { SeatOwners } from '../seats/seat-owners.ts';
import { Seats, type SeatsOptions } from '../seats/seats.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { createCancelWatch } from './cancel-watch.ts';
import { claimForSeat, releaseSeatClaim } from './key-claims.ts';
import { createSeatRoutes } from './seat-routes.ts';

/** For tests: when a seat is idle, and how long it waits. */
export type SeatSettings = Pick<SeatsOptions, 'idleMs' | 'lookEveryMs' | 'timing'> & {
  /** Milliseconds between two looks at the owners of seats that are asked here. */
  readonly lookForOwnersMs?: number;
};

export interface SeatDeskOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly database: Database;
  readonly store: TraceStore;
  readonly catalogue: Catalogue;
  readonly models: Pick<Models, 'createForAgent' | 'create' | 'harness' | 'check'>;
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
  readonly mounts: readonly Mount[];
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
  const owners = new SeatOwners({
    database,
    ownerId: seats.ownerId,
    logger,
    lookEveryMs: options.seats?.lookForOwnersMs,
  });
  const doors: SeatDoors = {
    find: (secret) => seats.doorOf(secret),
    elsewhere: (request, response, secret) => owners.answer(request, response, secret),
  };
  return {
    seats,
    routes: createSeatRoutes({ ...options, seats }),
    mounts: [createSeatMount(doors, (line) => logger.warn(line)), createModelMount(doors)],
    async close(graceMs) {
      await seats.close(graceMs);
      cancels.close();
      owners.close();
    },
  };
}
