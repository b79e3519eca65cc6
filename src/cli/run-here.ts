import { createCatalogue } from '../client/catalogue.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import type { EnvironmentPool } from '../client/environment-pool.ts';
import { checkScenarioArgs } from '../client/scenario-args.ts';
import { environmentOfTrace, resolveEnvironment } from '../config/find-environments.ts';
import { ApiError } from '../contract/errors.ts';
import type { ResolvedModel } from '../contract/model.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import { RegisteredModels, toModelFields } from '../model/registered-models.ts';
import { checkAgent } from '../run-service/check-agent.ts';
import { checkRunHarness } from '../run-service/check-harness-needs.ts';
import type { ForkedTrace } from '../trust/fork/fork-request.ts';
import { toForkParent } from '../trust/replay/replay-request.ts';
import { UsageError } from './failure.ts';
import { type Installation, openInstallation } from './installation.ts';
import { parseScenarioArgs } from './options.ts';
import { createPlayer } from './play-here.ts';
import { DEFAULT_MODEL, type RunPlan, type RunSettings, toForks, toRequests } from './run-plan.ts';
import { type CommandStart, scenarioMissing } from './scenario-arguments.ts';
import { startTelemetry } from './telemetry.ts';
import { note } from './terminal.ts';

/**
 * Runs in this process, with the environments and the database of the working directory.
 *
 * @param environment undefined for a fork: that of the forked trace.
 */
export async function planHere(
  environment: string | undefined,
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
    const forked = settings.fork && (await readForked(installation, settings.fork.trace_id));
    const typedName = environment ?? forked?.trace.env_name ?? '';
    const { name, target } =
      environment === undefined
        ? environmentOfTrace(typedName, installation.environments)
        : resolveEnvironment(environment, installation.environments, installation.directory);
    const model = await resolvePlayer(settings, forked?.trace.model, installation);
    parseScenarioArgs(settings.args, settings.arg); // Syntax errors are reported before the environment starts.
    const environments = new Map([[name, target]]);
    const player = createPlayer(installation, environments, settings);
    opened.push(player);
    const command: CommandStart = `proctor ${settings.command ?? 'run'} ${typedName}`;
    const readEntry = (short: string | undefined) => readScenario({ environments, ...player }, name, short, command);
    const readNew = async () => {
      const entry = await readEntry(scenario);
      const fresh = toRequests(name, entry, settings, typedName);
      for (const each of fresh.slice(0, 1)) checkRunHarness(entry, each, installation.models);
      return fresh;
    };
    const readForks = async (trace: ForkedTrace) => {
      const forks = toForks({ envName: name, scenario }, trace, settings);
      const entry = await readEntry(trace.trace.scenario_name);
      checkScenarioArgs(entry, trace.trace.scenario_args);
      for (const each of forks.slice(0, 1)) checkRunHarness(entry, each, installation.models);
      return forks;
    };
    const requests = forked === undefined ? await readNew() : await readForks(forked);
    return {
      requests,
      appUrl: installation.settings.appUrl,
      play: ({ fork, ...request }, show, stop) =>
        player.play(
          { ...request, ...toModelFields(model), origin: 'run', ...(fork && { parent: toForkParent(fork) }) },
          show,
          stop,
        ),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * The model of all runs of a command, checked with the agent.
 *
 * @param forked the model of the trace that a fork goes on with.
 * @throws UsageError for an agent without the model that it needs; ApiError agent_not_found, model_not_found.
 */
async function resolvePlayer(
  { agent, model }: RunSettings,
  forked: string | undefined,
  installation: Installation,
): Promise<ResolvedModel> {
  const named = agent === undefined ? (model ?? forked ?? DEFAULT_MODEL) : model;
  const registered = new RegisteredModels(installation.database);
  let resolved: ResolvedModel | undefined;
  const check = async (each: string) => {
    resolved = await registered.resolve('local', each);
    installation.models.check(resolved);
    return resolved.target;
  };
  const models = named === undefined ? [] : [named];
  const [playing] = (await checkAgent({ agent: agent ?? null, models }, installation, check, true)) ?? [];
  if (playing === undefined) throw new UsageError(`Name a model for the agent ${agent} with --model.`);
  return resolved ?? { model: playing, target: playing, gateway: null };
}

async function readForked({ store }: Installation, traceId: string): Promise<ForkedTrace> {
  const [trace, row] = [await store.trace(traceId), await store.row(traceId)];
  if (trace !== undefined && row !== undefined) return { trace, asked: row.request };
  throw new ApiError(
    'trace_not_found',
    `There is no trace ${traceId}: "proctor traces list" shows those that there are.`,
  );
}

async function readScenario(
  {
    environments,
    pool,
  }: { readonly environments: ReadonlyMap<string, EnvironmentTarget>; readonly pool: EnvironmentPool },
  name: string,
  scenario: string | undefined,
  command: CommandStart,
): Promise<ScenarioEntry> {
  const catalogue = createCatalogue(environments, { connect: (target, how) => pool.read(target, how) });
  try {
    if (scenario !== undefined) return await catalogue.find(name, scenario);
    throw scenarioMissing(name, await catalogue.scenarios(name), command);
  } finally {
    await catalogue.close();
  }
}
