import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../contract/errors.ts';
import { openDatabase } from '../database/open-database.ts';
import { LeaseRenewer } from './lease-keeper.ts';
import { renewLeases } from './renew-leases.ts';
import type { LeaseThreadData, LeaseThreadReport, LeaseThreadRequest } from './threaded-lease-keeper.ts';

/** The program of the thread that renews leases. */
const { address, renewEveryMs, lastTurn } = workerData as LeaseThreadData;

/**
 * Milliseconds without a turn of the main thread, after which the process counts as stuck and its leases are not
 * renewed.
 */
const MAX_STILL_MS = 60_000;

const report = (given: LeaseThreadReport) => parentPort?.postMessage(given);
const database = await openDatabase(address);
const renewer = new LeaseRenewer(
  { renew: (leases) => renewLeases(database, leases, Date.now) },
  {
    warn: (error) => report({ kind: 'warning', message: messageOf(error) }),
    isAlive: () => Date.now() - Number(Atomics.load(lastTurn, 0)) < MAX_STILL_MS,
    renewEveryMs,
  },
);

parentPort?.on('message', (request: LeaseThreadRequest) => {
  if (request.kind === 'keep') renewer.keep(request.lease, () => report({ kind: 'lost', token: request.lease.token }));
  else if (request.kind === 'drop') renewer.drop(request.lease);
  else void close();
});

async function close(): Promise<void> {
  parentPort?.close();
  await renewer.close();
  await database.close();
}
