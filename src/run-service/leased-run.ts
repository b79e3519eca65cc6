import type { Logger } from 'pino';
import type { Agents } from '../agents/agents.ts';
import { connectEnvironment } from '../client/connect.ts';
import type { EnvironmentClient, EnvironmentTarget } from '../client/environment-client.ts';
import type { PoolConnectOptions } from '../client/environment-pool.ts';
import { hashTargetCode } from '../client/module-hash.ts';
import { BoundaryError, type RunErrorBody } from '../contract/errors.ts';
import type { DatabaseTransaction } from '../database/database.ts';
import type { AttemptGuards } from '../evaluations/attempt-guards.ts';
import type { ModelDelta } from '../model/chat-model.ts';
import type { Models } from '../model/create-model.ts';
import type { LeaseKeeper } from '../queue/lease-keeper.ts';
import type { Lease, RunQueue } from '../queue/run-queue.ts';
import { executeRun } from '../rollout/execute-run.ts';
import { RunInterrupted, type RunOutcome } from '../rollout/run.ts';
import { CANCELLED, failedBy, failedByWorker } from '../rollout/run-endings.ts';
import { addLostSpan } from '../rollout/run-span.ts';
import { createRecorder } from '../trace/event-recorder.ts';
import { isFinal } from '../trace/trace-heads.ts';
import { AttemptSupersededError, type TraceRow, type TraceStore } from '../trace/trace-store.ts';
import { openRepetition } from '../trust/repetition.ts';
import type { CancelWatch } from './cancel-watch.ts';
import { commandAgentOf } from './command-agents.ts';
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
  /** Name of the worker, for queue and trace. */
  readonly worker: string;
  /** Has processes ready; undefined: each run waits until one has started. */
  readonly pool?: EnvironmentSource | undefined;
  /** Watches over the model calls of evaluations. Without them such runs are as any other. */
  readonly guards?: AttemptGuards | undefined;
  /** Agents that play as commands. Without them runs that name one fail. */
  readonly agents?: Agents | undefined;
  /** Text of a model as it streams, for those who watch the run. */
  readonly onDelta?: ((traceId: string, attempt: number, delta: ModelDelta) => void) | undefined;
}

interface EnvironmentSource {
  connect(target: EnvironmentTarget, options: PoolConnectOptions): Promise<EnvironmentClient>;
}

/** Attempts of one run; those that a worker gave back at its shutdown do not count (contract section 3, "Durability"). */
const MAX_ATTEMPTS = 3;

/**
 * Executes the run of a lease and brings it to its final state, or gives it back when `interrupt` says so. While it
 * goes on the lease is renewed; when that is lost, it stops without a trace of its own.
 *
 * @param row the run's row where it was read under this lease.
 * @throws whatever made it impossible to say in the trace how the run ended: the lease has to run out then.
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
    // Cancelled before it began, or another worker has it: then this lease is not valid, and completing it does nothing.
    await heartbeat.complete();
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
  /** True where an earlier one was lost with its environment: if the run itself was the reason, it takes nobody down again. */
  readonly isAlone: boolean;
}

/** Which attempt this is; undefined where there is nothing to execute any more. */
async function takeAttempt(
  lease: Lease,
  row: TraceRow | undefined,
  { store, logger }: LeasedRunOptions,
): Promise<Attempt | undefined> {
  if (row === undefined || isFinal(row)) return undefined;
  if (row.cancelRequested) {
    await store.append(row.traceId, row.attempt, [CANCELLED]);
    return undefined;
  }
  // A lease that ran out: its worker is taken for dead, and if it is not, it may not write into what follows.
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

/** How the attempts so far ended, for the next one. */
async function attemptsOf(store: TraceStore, row: TraceRow) {
  const attempts = (await store.trace(row.traceId))?.attempts ?? [];
  const startedAt = attempts.at(-1)?.started_at ?? null;
  return {
    /** The present one among them. */
    lost: attempts.filter(({ end }) => end === 'lost').length + 1,
    startedAt: startedAt === null ? undefined : Date.parse(startedAt),
    isAlone: attempts.some(({ error }) => error?.boundary === 'environment'),
  };
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
    const repetition = await openRepetition(row, store);
    const outcome = await executeRun({
      request: row.request,
      worker,
      waitsForPlace: pool !== undefined,
      connect: async (connectOptions) => {
        const known = knownTarget(target, row.request.env_name);
        if (pool === undefined) return await connectEnvironment(known, connectOptions);
        return await pool.connect(known, { ...connectOptions, codeHash, kind: 'run', isAlone });
      },
      createAgent: commandAgentOf(row, options, own.agentGuard),
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

/**
 * Handles the loss of an attempt: with its environment, which has an error, or by a failure of the store or the queue, as
 * with its worker. Any worker may take the run. If giving it back fails, its lease runs out.
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

/** The configuration may have changed since the run was accepted. */
function knownTarget(target: EnvironmentTarget | undefined, name: string): EnvironmentTarget {
  if (target !== undefined) return target;
  throw new BoundaryError('environment', 'env_not_found', `This worker has no environment ${JSON.stringify(name)}`);
}
