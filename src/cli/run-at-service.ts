import { loadProject } from '../config/project.ts';
import type { TraceEvent } from '../contract/event.ts';
import type { RunInput } from '../contract/run.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import { EXTERNAL_MODEL } from '../contract/seat.ts';
import type { Trace } from '../contract/trace.ts';
import { createServiceClient, type ServiceClient } from '../service-client/service-client.ts';
import { didYouMean } from '../text/did-you-mean.ts';
import { UsageError } from './failure.ts';
import { type PlannedRun, type RunPlan, type RunSettings, toForks, toRequests } from './run-plan.ts';
import { scenarioMissing } from './scenario-arguments.ts';
import { findKey } from './service-key.ts';

/** Runs of a run service: it accepts them, its workers execute them, its store keeps their traces. */
export async function planAtService(
  baseUrl: string,
  environment: string | undefined,
  scenario: string | undefined,
  settings: RunSettings,
): Promise<RunPlan> {
  const service = await connectService(baseUrl);
  const plan = (requests: RunPlan['requests']): RunPlan => ({
    requests,
    play: (request, show, stop) => playAtService(service, request, show, stop),
    [Symbol.asyncDispose]: async () => {},
  });
  if (settings.fork !== undefined || environment === undefined) {
    const trace = await service.traces.get(settings.fork?.trace_id ?? '');
    // The service knows the models that the trace was asked for with.
    return plan(toForks({ envName: environment, scenario }, { trace, asked: {} }, settings));
  }
  const { scenarios } = await service.environments.scenarios(environment);
  if (scenario === undefined) throw scenarioMissing(environment, scenarios, `proctor run ${environment}`);
  return plan(toRequests(environment, findScenario(scenarios, environment, scenario), settings));
}

/** The client of a run service, with the key of the variable or of this directory. @throws UsageError without one. */
export async function connectService(baseUrl: string): Promise<ServiceClient> {
  return createServiceClient({ baseUrl, apiKey: findKey(await loadProject(), baseUrl) });
}

/** The run is the service's: that this command is stopped does not end it, so that it is told to. */
async function playAtService(
  service: ServiceClient,
  request: PlannedRun,
  show: (events: readonly TraceEvent[]) => void,
  stop: AbortSignal,
): Promise<Trace> {
  const { trace_id } = await service.runs.create(toInput(request));
  const cancel = () => void service.traces.cancel(trace_id).catch(isOverAnyway);
  stop.addEventListener('abort', cancel);
  try {
    if (stop.aborted) cancel();
    for await (const event of service.traces.events(trace_id)) if ('seq' in event) show([event]);
    return await service.traces.get(trace_id);
  } finally {
    stop.removeEventListener('abort', cancel);
  }
}

/** A run, or one that goes on with a trace. Whether an agent brings its own model, the service knows. */
function toInput({ fork, ...request }: PlannedRun): RunInput {
  if (fork !== undefined) return { ...request, fork };
  const { model, ...others } = request;
  return request.agent !== null && model === EXTERNAL_MODEL ? others : request;
}

/** A run that ended meanwhile cannot be cancelled; a service that is away is heard of by whoever reads its events. */
function isOverAnyway(): void {}

/** @throws UsageError that lists those that there are. */
export function findScenario(scenarios: readonly ScenarioEntry[], environment: string, name: string): ScenarioEntry {
  const found = scenarios.find((entry) => entry.short_name === name || entry.name === name);
  if (found !== undefined) return found;
  const known = scenarios.map(({ short_name }) => short_name);
  throw new UsageError(
    `The environment "${environment}" has no scenario "${name}".${didYouMean(name, known)} Scenarios: ${known.join(', ') || 'none'}.`,
  );
}
