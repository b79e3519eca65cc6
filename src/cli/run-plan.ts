import type { TraceEvent } from '../contract/event.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Fork } from '../contract/replay.ts';
import { type RunRequest, runRequestSchema } from '../contract/run.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import { EXTERNAL_MODEL } from '../contract/seat.ts';
import type { Trace } from '../contract/trace.ts';
import { checkMetadata } from '../run-service/check-metadata.ts';
import { type ForkedRequest, type ForkedTrace, toForkedRequest } from '../trust/fork/fork-request.ts';
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
  /** Words of the command for its messages. Default: `run`. */
  readonly command?: string;
  /** Undefined: the oracle, the agent's own, or the model of the forked trace. */
  readonly model?: string;
  readonly agent?: string;
  readonly userModel?: string;
  readonly judgeModel?: string;
  readonly fork?: Fork;
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

/** A run, with the trace that it goes on with, if any. */
export type PlannedRun = ForkedRequest & { readonly fork?: Fork };

/** Runs that can begin: everything that can be wrong with the command was found before the first of them exists. */
export interface RunPlan extends AsyncDisposable {
  readonly requests: readonly PlannedRun[];
  /** Where the pages of this directory are; undefined for a service, whose traces are at its own address. */
  readonly appUrl?: string;
  /** One run from its beginning to its end; `stop` cancels it. Its events are shown as they come. */
  play(request: PlannedRun, show: (events: readonly TraceEvent[]) => void, stop: AbortSignal): Promise<Trace>;
}

/** @param typedName of the environment, for messages. @throws UsageError, or ApiError `invalid_scenario_args`. */
export function toRequests(
  envName: string,
  scenario: ScenarioEntry,
  settings: RunSettings,
  typedName = envName,
): readonly RunRequest[] {
  const args = readScenarioArgs(scenario, settings, `proctor ${settings.command ?? 'run'} ${typedName}`);
  checkMetadata(parseMetadata(settings.metadata));
  const what = { env_name: envName, scenario_name: scenario.short_name, scenario_args: args };
  return Array.from({ length: settings.runs }, (_, index) => toRequest(what, settings, index));
}

/** Runs that go on with a trace. @throws UsageError, or ApiError run_running or invalid_parameter. */
export function toForks(
  { envName, scenario }: { readonly envName: string | undefined; readonly scenario: string | undefined },
  forked: ForkedTrace,
  settings: RunSettings,
): readonly PlannedRun[] {
  const { fork } = settings;
  const { trace: parent } = forked;
  if (fork === undefined) throw new TypeError('These settings are of no fork');
  if (settings.agent !== undefined) throw new UsageError('A fork goes on with a model: leave --agent out.');
  if (settings.arg !== undefined || settings.args !== undefined) {
    throw new UsageError('A fork has the arguments of its trace: leave --arg and --args out.');
  }
  checkMetadata(parseMetadata(settings.metadata));
  return Array.from({ length: settings.runs }, (_, index) => {
    const { seed, model, max_steps, ...given } = toRequest(
      { env_name: parent.env_name, scenario_name: parent.scenario_name, scenario_args: parent.scenario_args },
      { ...settings, model: settings.model ?? parent.model },
      index,
    );
    const body = {
      ...given,
      ...{ model, seed, env_name: envName ?? parent.env_name, scenario_name: scenario ?? parent.scenario_name },
      ...(settings.maxSteps === undefined ? {} : { max_steps }),
    };
    return { ...toForkedRequest(body, fork, forked), fork };
  });
}

function toRequest(what: object, settings: RunSettings, index: number): RunRequest {
  const parsed = runRequestSchema.safeParse({
    ...what,
    model: settings.model ?? (settings.agent === undefined ? DEFAULT_MODEL : EXTERNAL_MODEL),
    agent: settings.agent,
    user_model: settings.userModel,
    judge_model: settings.judgeModel,
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
