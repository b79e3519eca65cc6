import type { Logger } from 'pino';
import { connectEnvironment } from '../client/connect.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { hashEnvironmentCode } from '../client/module-hash.ts';
import { BoundaryError } from '../contract/errors.ts';
import type { Models } from '../model/create-model.ts';
import type { Lease, RunQueue } from '../queue/run-queue.ts';
import { executeRun } from '../rollout/execute-run.ts';
import { RunInterrupted } from '../rollout/run.ts';
import { createRecorder } from '../trace/event-recorder.ts';
import { AttemptSupersededError, type TraceRow, type TraceStore } from '../trace/trace-store.ts';
import { type Heartbeat, startHeartbeat } from './heartbeat.ts';
import { CANCELLED, failedByWorker } from './run-endings.ts';
import { isFinal } from './wait-for-end.ts';

export interface LeasedRunOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly models: Models;
  readonly logger: Logger;
  /** Who executes it, for queue and trace. */
  readonly worker: string;
}

/** Attempts of one run; those that a worker gave back at its shutdown do not count (contract section 3, "Durability"). */
const MAX_ATTEMPTS = 3;

/**
 * Executes the run of a lease and brings it to its final state, or gives it back when `interrupt` says so. While it
 * goes on the lease is renewed; when that is lost, it stops without a trace of its own.
 *
 * @throws whatever made it impossible to say in the trace how the run ended: the lease has to run out then.
 */
export async function executeLease(lease: Lease, interrupt: AbortController, options: LeasedRunOptions): Promise<void> {
  const heartbeat = startHeartbeat(lease, interrupt, options);
  try {
    const attempt = await takeAttempt(lease, options);
    if (attempt === undefined) return await options.queue.complete(lease);
    if (heartbeat.isLost) return;
    if (isReleased(interrupt.signal)) return await options.queue.release(lease);
    await executeAttempt(lease, attempt, { interrupt, heartbeat }, options);
  } catch (error) {
    if (!(error instanceof AttemptSupersededError)) throw error;
    // Cancelled before it began, or another worker has it: then this lease is not valid, and completing it does nothing.
    await options.queue.complete(lease);
  } finally {
    heartbeat.stop();
  }
}

/** Before the attempt began: then it is given back as it is. */
function isReleased({ reason }: AbortSignal): boolean {
  return reason instanceof RunInterrupted && reason.kind === 'released';
}

interface Attempt {
  readonly number: number;
  readonly row: TraceRow;
}

/** Which attempt this is; undefined where there is nothing to execute any more. */
async function takeAttempt(lease: Lease, options: LeasedRunOptions): Promise<Attempt | undefined> {
  const { store, logger } = options;
  const row = await store.row(lease.traceId);
  if (row === undefined || isFinal(row.status)) return undefined;
  if (row.cancelRequested) {
    await store.append(row.traceId, row.attempt, [CANCELLED]);
    return undefined;
  }
  // A lease that ran out: its worker is taken for dead, and if it is not, it may not write into what follows.
  if (!lease.isRedelivered && row.status === 'queued') return { number: row.attempt, row };
  const lost = await lostAttempts(store, row);
  logger.warn({ traceId: row.traceId, attempt: row.attempt }, 'The worker of a run was lost');
  if (lost < MAX_ATTEMPTS) return { number: await store.startNextAttempt(row.traceId, row.attempt, 'lost'), row };
  const message = `Every worker that took the run was lost with it; it was given up after ${lost} attempts.`;
  await store.append(row.traceId, row.attempt, [failedByWorker(message)]);
  return undefined;
}

/** The present attempt among them. */
async function lostAttempts(store: TraceStore, row: TraceRow): Promise<number> {
  const trace = await store.trace(row.traceId);
  return (trace?.attempts.filter(({ end }) => end === 'lost').length ?? 0) + 1;
}

async function executeAttempt(
  lease: Lease,
  { number, row }: Attempt,
  { interrupt, heartbeat }: { readonly interrupt: AbortController; readonly heartbeat: Heartbeat },
  options: LeasedRunOptions,
): Promise<void> {
  const { store, queue, models, logger, worker } = options;
  const target = options.environments.get(row.request.env_name);
  try {
    const outcome = await executeRun({
      request: row.request,
      worker,
      connect: (connectOptions) => connectEnvironment(knownTarget(target, row.request.env_name), connectOptions),
      createModel: (name, context) => models.create(name, context),
      recorder: createRecorder(store, row.traceId, number),
      signal: interrupt.signal,
      environmentHash: await hashOf(target),
    });
    if (outcome.status !== 'released') return await queue.complete(lease);
    if (heartbeat.isLost) return;
    await store.startNextAttempt(row.traceId, number, 'released', (transaction) => queue.release(lease, transaction));
  } catch (error) {
    if (error instanceof AttemptSupersededError) throw error;
    logger.error({ traceId: row.traceId, attempt: number, err: error }, 'A run failed in the worker');
    await store.append(row.traceId, number, [
      failedByWorker("The worker failed while it executed the run. The worker's log says why."),
    ]);
    await queue.complete(lease);
  }
}

/** The configuration may have changed since the run was accepted. */
function knownTarget(target: EnvironmentTarget | undefined, name: string): EnvironmentTarget {
  if (target !== undefined) return target;
  throw new BoundaryError('environment', 'env_not_found', `This worker has no environment ${JSON.stringify(name)}`);
}

async function hashOf(target: EnvironmentTarget | undefined): Promise<string | null> {
  if (target?.kind !== 'module') return null;
  try {
    return await hashEnvironmentCode(target.path);
  } catch {
    return null; // What cannot be read cannot be started either, and that is said in better words.
  }
}
