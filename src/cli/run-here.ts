import { createCatalogue } from '../client/catalogue.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import type { EnvironmentPool } from '../client/environment-pool.ts';
import { environmentOfTrace, resolveEnvironment } from '../config/find-environments.ts';
import { ApiError } from '../contract/errors.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import type { Trace } from '../contract/trace.ts';
import { toForkParent } from '../trust/replay/replay-request.ts';
import { type Installation, openInstallation } from './installation.ts';
import { parseScenarioArgs } from './options.ts';
import { createPlayer } from './play-here.ts';
import { type RunPlan, type RunSettings, toForks, toRequests } from './run-plan.ts';
import { scenarioMissing } from './scenario-arguments.ts';
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
    const typedName = environment ?? forked?.env_name ?? '';
    const { name, target } =
      environment === undefined
        ? environmentOfTrace(typedName, installation.environments)
        : resolveEnvironment(environment, installation.environments, installation.directory);
    parseScenarioArgs(settings.args, settings.arg); // Syntax errors are reported before the environment starts.
    const environments = new Map([[name, target]]);
    const player = createPlayer(installation, environments, settings);
    opened.push(player);
    const requests =
      forked === undefined
        ? toRequests(
            name,
            await readScenario({ environments, ...player }, name, scenario, typedName),
            settings,
            typedName,
          )
        : toForks({ envName: name, scenario }, forked, settings);
    for (const { model } of requests) installation.models.check(model);
    return {
      requests,
      appUrl: installation.settings.appUrl,
      play: ({ fork, ...request }, show, stop) =>
        player.play({ ...request, origin: 'run', ...(fork && { parent: toForkParent(fork) }) }, show, stop),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function readForked({ store }: Installation, traceId: string): Promise<Trace> {
  const trace = await store.trace(traceId);
  if (trace !== undefined) return trace;
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
