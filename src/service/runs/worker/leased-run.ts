import type { Logger } from 'pino';
import type { RunErrorBody } from '../../../contract/error-shapes.ts';
import { BoundaryError } from '../../../contract/errors.ts';
import { isEnded } from '../../../contract/service/ended.ts';
import { connectEnvironment } from '../../../environment/client/connect.ts';
import type { EnvironmentClient, EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import type { PoolConnectOptions } from '../../../environment/client/pool/environment-pool.ts';
import { hashTargetCode } from '../../../environment/client/pool/module-hash.ts';
import type { AttemptGuards } from '../../../evaluation/evaluations/attempt-guards.ts';
import type { ModelDelta } from '../../../models/gateway/chat-model.ts';
import type { Models } from '../../../models/gateway/create-model.ts';
import type { Agents } from '../../../rollout/agents/agents.ts';
import { executeRun } from '../../../rollout/session/execute-run.ts';
import { RunInterrupted, type RunOutcome } from '../../../rollout/session/run.ts';
import { CANCELLED, failedBy, failedByWorker } from '../../../rollout/session/run-endings.ts';
import { addLostSpan } from '../../../rollout/session/run-span.ts';
import type { DatabaseTransaction } from '../../../store/database/database.ts';
import type { LeaseKeeper } from '../../../store/queue/lease-keeper.ts';
import type { Lease, RunQueue } from '../../../store/queue/run-queue.ts';
import { createRecorder } from '../../../store/traces/event-recorder.ts';
import { AttemptSupersededError, type TraceRow, type TraceStore } from '../../../store/traces/trace-store.ts';
import type { CancelWatch } from './cancel-watch.ts';
import { type Heartbeat, startHeartbeat } from './heartbeat.ts';
import { openRunModels, type RunModels } from './run-models.ts';

export interface LeasedRunOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly leases: LeaseKeeper;
  readonly cancels: CancelWatch;
  readonly models: Models;
  readonly logger: Logger;
  /** Name of the worker, for the queue and the trace. */
  readonly worker: string;
  /** Supplies ready processes. Undefined: each run starts its own. */
  readonly pool?: EnvironmentSource | undefined;
  /** Guards for model calls of evaluations. Undefined: no guards. */
  readonly guards?: AttemptGuards | undefined;
  /** External agents. Undefined: runs that name one fail. */
  readonly agents?: Agents | undefined;
  /** Gets streamed text of the model, for watchers of the run. */
  readonly onDelta?: ((traceId: string, attempt: number, delta: ModelDelta) => void) | undefined;
}

interface EnvironmentSource {
  connect(target: EnvironmentTarget, options: PoolConnectOptions): Promise<EnvironmentClient>;
}

/**
 * Most attempts of one run. Attempts that a worker gave back at its shutdown do not count (contract section 3,
 * "Durability").
 */
const MAX_ATTEMPTS = 3;

/**
 * Plays a leased run to its end, or gives it back if `interrupt` says so. The lease is renewed meanwhile. If the lease
 * is lost, the run stops without writing to the trace.
 *
 * @param row the run's row, if it was read under this lease.
 * @throws an error that could not be written to the trace. The lease has to expire then.
 */
export async function executeLease(
  lease: Lease,
  interrupt: AbortController,
  options: LeasedRunOptions,
  row?: TraceRow,
): Promise<void> {
  const logger = options.logger.child({ traceId: lease.traceId });
  const scoped = { ...options, logger };
  const heartbeat = startHeartbeat(lease, interrupt, scoped);
  try {
    const attempt = await takeAttempt(lease, row ?? (await options.store.row(lease.traceId)), scoped);
    if (attempt === undefined) return await heartbeat.complete();
    logger.setBindings({ attempt: attempt.number });
    if (heartbeat.isLost) return;
    if (isReleased(interrupt.signal)) return await heartbeat.release();
    await executeAttempt(attempt, { interrupt, heartbeat }, scoped);
  } catch (error) {
    if (!(error instanceof AttemptSupersededError)) throw error;
    // The run was cancelled, or another worker has it. In the second case this call has no effect.
    await heartbeat.complete();
  } finally {
    heartbeat.stop();
  }
}

/** True if the attempt was given back before it started. */
function isReleased({ reason }: AbortSignal): boolean {
  return reason instanceof RunInterrupted && reason.kind === 'released';
}

interface Attempt {
  readonly number: number;
  readonly row: TraceRow;
  /**
   * True if an earlier attempt lost its environment. The run gets a process of its own, since it may have caused the
   * crash.
   */
  readonly isAlone: boolean;
}

/** Starts the next attempt; undefined if there is nothing to play. */
async function takeAttempt(
  lease: Lease,
  row: TraceRow | undefined,
  { store, logger }: LeasedRunOptions,
): Promise<Attempt | undefined> {
  if (row === undefined || isEnded(row.status)) return undefined;
  if (row.cancelRequested) {
    await store.append(row.traceId, row.attempt, [CANCELLED]);
    return undefined;
  }
  // The lease of the last worker expired. It may still be alive, so it gets no access to the new attempt.
  if (!lease.isRedelivered && row.status === 'queued') {
    return { number: row.attempt, row, isAlone: row.attempt > 1 && (await attemptsOf(store, row)).isAlone };
  }
  const { lost, startedAt, isAlone } = await attemptsOf(store, row);
  logger.warn({ attempt: row.attempt }, 'The worker of a run was lost');
  addLostSpan({ traceId: row.traceId, attempt: row.attempt, redactor: store.redactor }, row.request, startedAt);
  if (lost < MAX_ATTEMPTS) {
    return { number: await store.startNextAttempt(row.traceId, row.attempt, 'lost'), row, isAlone };
  }
  const why = isAlone
    ? 'The last worker that took the run was lost with it'
    : 'Every worker that took the run was lost with it';
  const message = `${why}; it was given up after ${lost} attempts.`;
  await store.append(row.traceId, row.attempt, [failedByWorker(message)]);
  return undefined;
}

/** Counts the earlier attempts of the run. */
async function attemptsOf(store: TraceStore, row: TraceRow) {
  const attempts = (await store.trace(row.traceId))?.attempts ?? [];
  const startedAt = attempts.at(-1)?.started_at ?? null;
  return {
    /** The current attempt counts too. */
    lost: attempts.filter(({ end }) => end === 'lost').length + 1,
    startedAt: startedAt === null ? undefined : Date.parse(startedAt),
    isAlone: attempts.some(({ error }) => error?.boundary === 'environment'),
  };
}

/** Creates the external agent of a run. Its dialects are loaded only if needed. */
async function openAgent(row: TraceRow, options: LeasedRunOptions, guard: RunModels['agentGuard']) {
  if (!row.request.agent) return undefined;
  const { commandAgentOf } = await import('./command-agents.ts');
  return commandAgentOf(row, options, guard);
}

async function executeAttempt(
  attempt: Attempt,
  { interrupt, heartbeat }: { readonly interrupt: AbortController; readonly heartbeat: Heartbeat },
  options: LeasedRunOptions,
): Promise<void> {
  const { number, row, isAlone } = attempt;
  const { store, models, logger, worker, pool } = options;
  const target = options.environments.get(row.request.env_name);
  const codeHash = target === undefined ? null : await hashTargetCode(target);
  const startedAt = performance.now();
  const { env_name: environment, scenario_name: scenario, model } = row.request;
  logger.info({ environment, scenario, model, worker }, 'run started');
  let loss: RunErrorBody | null = null;
  let asked: RunModels | undefined;
  try {
    const own = await openRunModels(row, options);
    asked = own;
    const repetition = await repetitionOf(row, store);
    const outcome = await executeRun({
      request: row.request,
      worker,
      waitsForPlace: pool !== undefined,
      connect: async (connectOptions) => {
        const known = knownTarget(target, row.request.env_name);
        if (pool === undefined) return await connectEnvironment(known, connectOptions);
        return await pool.connect(known, { ...connectOptions, codeHash, kind: 'run', isAlone });
      },
      createAgent: await openAgent(row, options, own.agentGuard),
      createModel: (_name, context) => own.createForAgent(context),
      createHarnessModel: (name) => own.createForHarness(name),
      harnessModels: models.harness,
      recorder: createRecorder(store, row.traceId, number, repetition?.amend),
      script: repetition,
      signal: interrupt.signal,
      onDelta: (delta) => options.onDelta?.(row.traceId, number, delta),
      environmentHash: codeHash,
      trace: { traceId: row.traceId, attempt: number, redactor: store.redactor },
    });
    logger.info(toLogLine(outcome, startedAt), 'run ended');
    if (outcome.status !== 'released' && outcome.status !== 'lost') return await heartbeat.complete();
    if (heartbeat.isLost) return;
    if (outcome.status === 'lost') {
      loss = outcome.error;
      return await startAgain(attempt, heartbeat, options, loss);
    }
    await store.startNextAttempt(row.traceId, number, 'released', (transaction) => heartbeat.release(transaction));
  } catch (error) {
    if (error instanceof AttemptSupersededError) throw error;
    logger.error({ err: error }, 'A run could not be recorded by the worker');
    await startAgain(attempt, heartbeat, options, loss);
  } finally {
    asked?.end();
  }
}

/** The script of a replay or fork; undefined for other runs. */
async function repetitionOf(row: TraceRow, store: TraceStore) {
  if (!row.request.parent) return undefined;
  const { openReplayPlan } = await import('../../../evaluation/replays/replay-plan.ts');
  return await openReplayPlan(row, store);
}

/**
 * Handles an attempt that was lost with its environment, or by a failure of the store or queue. Any worker may play
 * the run again. If giving it back fails, its lease expires.
 */
async function startAgain(
  { number, row }: Attempt,
  heartbeat: Heartbeat,
  { store }: LeasedRunOptions,
  error: RunErrorBody | null,
): Promise<void> {
  const { lost } = await attemptsOf(store, row);
  if (lost < MAX_ATTEMPTS) {
    const release = (transaction: DatabaseTransaction) => heartbeat.release(transaction);
    await store.startNextAttempt(row.traceId, number, 'lost', release, error);
    return;
  }
  const message = `The worker could not record the run, in the last of ${lost} attempts. The worker's log says why.`;
  await store.append(row.traceId, number, [error === null ? failedByWorker(message) : failedBy(error)]);
  await heartbeat.complete();
}

function toLogLine(outcome: RunOutcome, startedAt: number) {
  const durationMs = Math.round(performance.now() - startedAt);
  if (outcome.status === 'released') return { status: outcome.status, durationMs };
  const { status, error } = outcome;
  const failure = error === null ? {} : { boundary: error.boundary, code: error.code };
  if (status === 'lost') return { status, durationMs, ...failure };
  return { status, stopReason: outcome.stopReason, reward: outcome.reward, durationMs, ...failure };
}

/** Throws if the environment was removed from the configuration after the run was taken. */
function knownTarget(target: EnvironmentTarget | undefined, name: string): EnvironmentTarget {
  if (target !== undefined) return target;
  const message = `Process ${process.pid} has no environment ${JSON.stringify(name)} any more: add it there, or start "proctor worker" in a folder that has it.`;
  throw new BoundaryError('environment', 'env_not_found', message);
}
