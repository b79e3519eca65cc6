import { randomBytes } from 'node:crypto';
import { createCatalogue } from '../client/catalogue.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { EnvironmentPool } from '../client/environment-pool.ts';
import { resolveEnvironment } from '../config/find-environments.ts';
import { messageOf } from '../contract/errors.ts';
import type { TraceEvent } from '../contract/event.ts';
import type { ResolvedModel } from '../contract/model.ts';
import type { RunRequest } from '../contract/run.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import type { Trace } from '../contract/trace.ts';
import { RegisteredModels, toModelFields } from '../model/registered-models.ts';
import type { LeaseKeeper } from '../queue/lease-keeper.ts';
import { LEASE, type Lease } from '../queue/run-queue.ts';
import { createLeaseKeeper } from '../queue/threaded-lease-keeper.ts';
import { RunInterrupted } from '../rollout/run.ts';
import { type CancelWatch, createCancelWatch } from '../run-service/cancel-watch.ts';
import { executeLease } from '../run-service/leased-run.ts';
import { type Installation, openInstallation } from './installation.ts';
import { createLogger } from './logger.ts';
import { parseScenarioArgs } from './options.ts';
import { type RunPlan, type RunSettings, toRequests } from './run-plan.ts';
import { scenarioMissing } from './scenario-arguments.ts';
import { startTelemetry } from './telemetry.ts';
import { note } from './terminal.ts';

/** Runs in this process, with the environments and the database of the working directory. */
export async function planHere(
  environment: string,
  scenario: string | undefined,
  settings: RunSettings,
): Promise<RunPlan> {
  const installation = await openInstallation();
  const opened: AsyncDisposable[] = [installation];
  const close = async () => {
    for (const part of opened.toReversed()) await part[Symbol.asyncDispose]();
  };
  try {
    opened.push(await startTelemetry({ ...installation, warn: note }));
    const { name, target } = resolveEnvironment(environment, installation.environments, installation.directory);
    const model = await new RegisteredModels(installation.database).resolve('local', settings.model);
    installation.models.check(model);
    parseScenarioArgs(settings.args, settings.arg); // Syntax errors are reported before the environment starts.
    const environments = new Map([[name, target]]);
    const { hosts, startTimeoutMs } = settings;
    const pool = new EnvironmentPool({ perEnvironment: 0, hosts, startTimeoutMs, report: note });
    opened.push({ [Symbol.asyncDispose]: () => pool.close() });
    const leases = createLeaseKeeper(installation.queue);
    opened.push({ [Symbol.asyncDispose]: () => leases.close() });
    const cancels = createCancelWatch(installation.store, (error) =>
      note(`Cancelled runs could not be looked for: ${messageOf(error)}`),
    );
    opened.push({ [Symbol.asyncDispose]: async () => cancels.close() });
    return {
      requests: toRequests(
        name,
        await readScenario({ environments, pool }, name, scenario, environment),
        settings,
        environment,
      ),
      appUrl: installation.settings.appUrl,
      play: (request, show, stop) =>
        playHere({ ...installation, environments, pool, leases, cancels }, { request, model, show }, stop),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

type Environments = ReadonlyMap<string, EnvironmentTarget>;

async function readScenario(
  { environments, pool }: { readonly environments: Environments; readonly pool: EnvironmentPool },
  name: string,
  scenario: string | undefined,
  typedName: string,
): Promise<ScenarioEntry> {
  const catalogue = createCatalogue(environments, { connect: (target, how) => pool.read(target, how) });
  try {
    if (scenario !== undefined) return await catalogue.find(name, scenario);
    throw scenarioMissing(name, await catalogue.scenarios(name), `proctor run ${typedName}`);
  } finally {
    await catalogue.close();
  }
}

/**
 * The run goes the way of every run: a row, its first event and a queue entry in one commit. Only that this process
 * holds the entry from the start; should it die, a worker of the same database finishes the run.
 */
async function playHere(
  parts: Installation & {
    readonly environments: Environments;
    readonly pool: EnvironmentPool;
    readonly leases: LeaseKeeper;
    readonly cancels: CancelWatch;
  },
  { request, model, show }: RunHere,
  stop: AbortSignal,
): Promise<Trace> {
  const { environments, pool, store, queue, leases, cancels, models } = parts;
  const traceId = randomBytes(16).toString('hex');
  const worker = `command_${process.pid}`;
  const unsubscribe = store.subscribe(traceId, show);
  // Its own, since a run is stopped by its heartbeat too, when its lease is lost or someone cancels it.
  const interrupt = new AbortController();
  const cancel = () => interrupt.abort(new RunInterrupted('cancelled'));
  stop.addEventListener('abort', cancel);
  try {
    let lease: Lease | undefined;
    await store.create(
      { traceId, account: 'local', queued: { ...request, ...toModelFields(model), origin: 'run' } },
      async (transaction) => {
        lease = await queue.enqueueLeased({ traceId, priority: request.priority }, worker, transaction);
      },
    );
    if (lease === undefined) throw new TypeError('A trace was created without its queue entry');
    const logger = createLogger('error', parts.redactor);
    await executeLease(lease, interrupt, { environments, pool, store, queue, leases, cancels, models, logger, worker });
    const trace = await store.trace(traceId);
    if (trace === undefined) throw new Error(`Trace ${traceId} is gone: it was deleted while it ran.`);
    if (trace.status === 'queued' || trace.status === 'running') note(describeTaken(trace));
    return trace;
  } finally {
    stop.removeEventListener('abort', cancel);
    unsubscribe();
  }
}

interface RunHere {
  readonly request: RunRequest;
  /** The meaning of its `model`, the same for all runs of the command. */
  readonly model: ResolvedModel;
  show(events: readonly TraceEvent[]): void;
}

/** It has not ended, since it is not this process any more that plays it. */
function describeTaken({ trace_url }: Trace): string {
  const why = `this process did not renew its lease for ${LEASE.durationMs / 1_000} s`;
  return `Another worker of this database has taken the run over, because ${why}. It goes on there: ${trace_url}`;
}
