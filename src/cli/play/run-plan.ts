import type { ServiceClient } from '../../client/service-client.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import type { Fork } from '../../contract/service/replay.ts';
import { type RunInput, type RunRequest, runRequestSchema } from '../../contract/service/run.ts';
import { EXTERNAL_MODEL } from '../../contract/service/seat.ts';
import type { ForkedRequest, ForkedTrace } from '../../evaluation/replays/fork/fork-request.ts';
import { checkMetadata } from '../../service/runs/routes/check-metadata.ts';
import { didYouMean } from '../../support/text/did-you-mean.ts';
import { UsageError } from '../base/failure.ts';
import { parseMetadata, parseScenarioArgs } from '../base/options.ts';
import type { PoolCommandOptions } from '../base/pool-options.ts';
import { type CommandStart, readScenarioArgs, scenarioMissing } from '../base/scenario-arguments.ts';

/** The oracle plays the solution of a scenario. */
const DEFAULT_MODEL = 'proctor/oracle';

/** Settings that all runs of a command share. */
export interface RunSettings extends PoolCommandOptions {
  readonly arg?: readonly string[];
  readonly args?: string;
  /** Name of the command for messages. Default: `run`. */
  readonly command?: string;
  /** Model of the run. Undefined: the oracle, the agent's own, or that of the forked trace. */
  readonly model?: string;
  readonly agent?: string;
  readonly userModel?: string;
  readonly judgeModel?: string;
  readonly fork?: Fork;
  readonly runs: number;
  readonly maxSteps?: number;
  /** Limit of a run in seconds. */
  readonly timeout?: number;
  readonly temperature?: number;
  readonly sampling?: JsonObject;
  /** Pairs `name=value`. */
  readonly metadata?: readonly string[];
  /** Seed of the first run. It grows by one for each further run. */
  readonly seed?: number;
}

/** A run, and the trace that it continues, if any. */
export type PlannedRun = ForkedRequest & { readonly fork?: Fork };

export interface RunsOf {
  readonly client: ServiceClient;
  /** Environment as typed; undefined for a fork. */
  readonly typed: string | undefined;
  /** Name of the environment at the service. */
  readonly name: string | undefined;
  readonly scenario: string | undefined;
}

/**
 * Creates the requests of a command. All errors of the command are found before the first run exists.
 *
 * @throws UsageError; ApiError for a request that the service refuses.
 */
export async function planRuns(
  { client, typed = '', name, scenario }: RunsOf,
  settings: RunSettings,
): Promise<readonly PlannedRun[]> {
  if (settings.fork !== undefined || name === undefined) {
    const trace = await client.traces.get(settings.fork?.trace_id ?? '');
    // The service takes the models of user and judge from the trace.
    return await toForks({ envName: name, scenario }, { trace, asked: {} }, settings);
  }
  parseScenarioArgs(settings.args, settings.arg); // Syntax errors are reported before the environment starts.
  const command: CommandStart = `proctor ${settings.command ?? 'run'} ${typed}`;
  const { scenarios } = await client.environments.scenarios(name);
  if (scenario === undefined) throw scenarioMissing(name, scenarios, command);
  return toRequests(name, findScenario(scenarios, name, scenario), settings, typed);
}

/** Converts a planned run to a request. Without a model, the service checks whether the agent has one. */
export function toInput({ fork, ...request }: PlannedRun): RunInput {
  if (fork !== undefined) return { ...request, fork };
  const { model, ...others } = request;
  return request.agent !== null && model === EXTERNAL_MODEL ? others : request;
}

/** @throws UsageError with the list of scenarios. */
export function findScenario(scenarios: readonly ScenarioEntry[], environment: string, name: string): ScenarioEntry {
  const found = scenarios.find((entry) => entry.short_name === name || entry.name === name);
  if (found !== undefined) return found;
  const known = scenarios.map(({ short_name }) => short_name);
  throw new UsageError(
    `The environment "${environment}" has no scenario "${name}".${didYouMean(name, known)} Scenarios: ${known.join(', ') || 'none'}.`,
  );
}

/** @param typedName of the environment, for messages. @throws UsageError, or ApiError `invalid_scenario_args`. */
function toRequests(
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

/** Creates runs that continue a trace. @throws UsageError, or ApiError run_running or invalid_parameter. */
async function toForks(
  { envName, scenario }: { readonly envName: string | undefined; readonly scenario: string | undefined },
  forked: ForkedTrace,
  settings: RunSettings,
): Promise<readonly PlannedRun[]> {
  const { fork } = settings;
  const { trace: parent } = forked;
  if (fork === undefined) throw new TypeError('These settings are of no fork');
  if (settings.agent !== undefined) throw new UsageError('A fork goes on with a model: leave --agent out.');
  if (settings.arg !== undefined || settings.args !== undefined) {
    throw new UsageError('A fork has the arguments of its trace: leave --arg and --args out.');
  }
  checkMetadata(parseMetadata(settings.metadata));
  const { toForkedRequest } = await import('../../evaluation/replays/fork/fork-request.ts');
  return Array.from({ length: settings.runs }, (_, index) => {
    const { seed, model, max_steps, ...given } = toRequest(
      { env_name: parent.env_name, scenario_name: parent.scenario_name, scenario_args: parent.scenario_args },
      { ...settings, model: settings.model ?? parent.model },
      index,
    );
    const body = {
      ...given,
      model,
      seed,
      env_name: envName ?? parent.env_name,
      scenario_name: scenario ?? parent.scenario_name,
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
