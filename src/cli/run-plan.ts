import { checkScenarioArgs } from '../client/catalogue.ts';
import type { TraceEvent } from '../contract/event.ts';
import { type RunRequest, runRequestSchema } from '../contract/run.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import type { Trace } from '../contract/trace.ts';
import { UsageError } from './failure.ts';
import { parseScenarioArgs } from './options.ts';

/** What the runs of a command have in common. */
export interface RunSettings {
  readonly arg?: readonly string[];
  readonly args?: string;
  readonly model: string;
  readonly runs: number;
  readonly maxSteps?: number;
  readonly timeoutSeconds?: number;
  /** Of the first run; each that follows has one more. */
  readonly seed?: number;
}

/** Runs that can begin: everything that can be wrong with the command was found before the first of them exists. */
export interface RunPlan extends AsyncDisposable {
  readonly requests: readonly RunRequest[];
  /** One run from its beginning to its end; `stop` cancels it. Its events are shown as they come. */
  play(request: RunRequest, show: (events: readonly TraceEvent[]) => void, stop: AbortSignal): Promise<Trace>;
}

/** @throws UsageError, or ApiError `invalid_scenario_args`. */
export function toRequests(envName: string, scenario: ScenarioEntry, settings: RunSettings): readonly RunRequest[] {
  const args = parseScenarioArgs(settings.args, settings.arg, scenario.args_schema);
  checkScenarioArgs(scenario, args);
  const what = { env_name: envName, scenario_name: scenario.short_name, scenario_args: args };
  return Array.from({ length: settings.runs }, (_, index) => toRequest(what, settings, index));
}

function toRequest(what: object, settings: RunSettings, index: number): RunRequest {
  const parsed = runRequestSchema.safeParse({
    ...what,
    model: settings.model,
    max_steps: settings.maxSteps,
    timeout_seconds: settings.timeoutSeconds,
    seed: settings.seed === undefined ? null : settings.seed + index,
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UsageError(`--${String(issue?.path[0]).replaceAll('_', '-')}: ${issue?.message}`);
}
