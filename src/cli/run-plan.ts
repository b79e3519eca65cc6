import type { TraceEvent } from '../contract/event.ts';
import type { JsonObject } from '../contract/json.ts';
import { type RunRequest, runRequestSchema } from '../contract/run.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import { EXTERNAL_MODEL } from '../contract/seat.ts';
import type { Trace } from '../contract/trace.ts';
import { checkMetadata } from '../run-service/check-metadata.ts';
import { UsageError } from './failure.ts';
import { parseMetadata } from './options.ts';
import type { PoolCommandOptions } from './pool-options.ts';
import { readScenarioArgs } from './scenario-arguments.ts';

/** Plays the solution of a scenario. */
export const DEFAULT_MODEL = 'proctor/oracle';

/** Settings that all runs of a command share. */
export interface RunSettings extends PoolCommandOptions {
  readonly arg?: readonly string[];
  readonly args?: string;
  /** Undefined: the oracle, or what the agent brings. */
  readonly model?: string;
  readonly agent?: string;
  readonly runs: number;
  readonly maxSteps?: number;
  /** In seconds. */
  readonly timeout?: number;
  readonly temperature?: number;
  readonly sampling?: JsonObject;
  /** `name=value` each. */
  readonly metadata?: readonly string[];
  /** Seed of the first run; each next run adds one. */
  readonly seed?: number;
}

/** Runs that can begin: everything that can be wrong with the command was found before the first of them exists. */
export interface RunPlan extends AsyncDisposable {
  readonly requests: readonly RunRequest[];
  /** Where the pages of this directory are; undefined for a service, whose traces are at its own address. */
  readonly appUrl?: string;
  /** One run from its beginning to its end; `stop` cancels it. Its events are shown as they come. */
  play(request: RunRequest, show: (events: readonly TraceEvent[]) => void, stop: AbortSignal): Promise<Trace>;
}

/** @param typedName of the environment, for messages. @throws UsageError, or ApiError `invalid_scenario_args`. */
export function toRequests(
  envName: string,
  scenario: ScenarioEntry,
  settings: RunSettings,
  typedName = envName,
): readonly RunRequest[] {
  const args = readScenarioArgs(scenario, settings, `proctor run ${typedName}`);
  checkMetadata(parseMetadata(settings.metadata));
  const what = { env_name: envName, scenario_name: scenario.short_name, scenario_args: args };
  return Array.from({ length: settings.runs }, (_, index) => toRequest(what, settings, index));
}

function toRequest(what: object, settings: RunSettings, index: number): RunRequest {
  const parsed = runRequestSchema.safeParse({
    ...what,
    model: settings.model ?? (settings.agent === undefined ? DEFAULT_MODEL : EXTERNAL_MODEL),
    agent: settings.agent,
    max_steps: settings.maxSteps,
    timeout_seconds: settings.timeout,
    metadata: parseMetadata(settings.metadata),
    sampling: {
      ...settings.sampling,
      ...(settings.temperature === undefined ? {} : { temperature: settings.temperature }),
    },
    seed: settings.seed === undefined ? null : settings.seed + index,
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const [field, ...inside] = issue?.path ?? [];
  const fault = issue?.code === 'custom' ? `${inside.join('.')} has to be ${issue.message}` : issue?.message;
  throw new UsageError(`--${String(field).replaceAll('_', '-')}: ${fault}`);
}
