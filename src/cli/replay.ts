import type { Command } from 'commander';
import { environmentOfTrace, resolveEnvironment } from '../config/find-environments.ts';
import { ApiError } from '../contract/errors.ts';
import { TRACE_ID_PATTERN } from '../contract/names.ts';
import type { Difference } from '../contract/replay.ts';
import { type Origin, originSchema, type Trace, type TraceSummary } from '../contract/trace.ts';
import { assertEnded } from '../trust/recorded-runs.ts';
import { toReplay } from '../trust/replay/replay-request.ts';
import { SilentFailure, UsageError } from './failure.ts';
import { howToOpen } from './how-to-open.ts';
import { openInstallation } from './installation.ts';
import { parseServiceUrl } from './options.ts';
import { createPlayer } from './play-here.ts';
import { addPoolOptions, type PoolCommandOptions } from './pool-options.ts';
import { connectService } from './run-at-service.ts';
import { createRunView } from './run-view.ts';
import { listenForStop } from './signals.ts';
import { startTelemetry } from './telemetry.ts';
import { colors, note, print, printable, printJson } from './terminal.ts';

/** Characters of one side of a difference. */
const SHOWN = 1_000;

export function addReplayCommand(program: Command): void {
  const command = program
    .command('replay <trace_id>')
    .description('Repeat setup and tool calls of a trace in the environment of today, and say the first difference.')
    .option('--environment <environment>', 'another one than the trace names: a name, the path of a module, or a URL')
    .option('--service <url>', 'replay a trace of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl);
  addPoolOptions(command)
    .option('-q, --quiet', 'no steps, only what came out')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
No model is asked. The replay is a trace of its own: prompt, tools, each result and the reward are compared with those of the
trace, without what its scenario calls volatile. A difference does not stop it.

Exit code: 0 when nothing differs; 1 when something does, or it could not be replayed; 2 when the command is wrong.

Examples:
  $ proctor replay last
  $ proctor replay 0af7651916cd43dd8448eb211c80319c --environment ./environments/next/environment.ts --json
  $ PROCTOR_API_KEY=... proctor replay 0af7651916cd43dd8448eb211c80319c --service https://proctor.example`,
    )
    .action(replay);
}

interface ReplayOptions extends PoolCommandOptions {
  readonly environment?: string;
  readonly service?: string;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

async function replay(traceId: string, options: ReplayOptions): Promise<void> {
  using stop = listenForStop(() =>
    note(colors.yellow('Stopping: the replay is cancelled. Once more ends it at once.')),
  );
  const { service } = options;
  if (service !== undefined && options.environment !== undefined)
    throw new UsageError('A service replays in its own environments: leave --environment out.');
  const trace = await (service === undefined
    ? replayHere(traceId, options, stop.signal)
    : replayAtService(service, traceId, stop.signal));
  const { replay: result } = trace;
  if (options.json)
    printJson({ trace_id: trace.trace_id, trace_url: trace.trace_url, status: trace.status, replay: result });
  else report(trace);
  if (result?.identical !== true) throw new SilentFailure();
}

/** The trace that a person names: by its id, or the newest one that is no replay and of no check. @throws UsageError. */
async function findTrace(
  named: string,
  list: (query: {
    readonly origin: Origin;
    readonly limit: number;
  }) => Promise<{ readonly data: readonly TraceSummary[] }>,
): Promise<string> {
  if (named !== 'last') return named;
  // One look for each origin: a regrade makes thousands of replays that are newer.
  const origins = originSchema.options.filter((origin) => origin !== 'replay' && origin !== 'check');
  const newest = await Promise.all(origins.map(async (origin) => (await list({ origin, limit: 1 })).data));
  const [last] = newest.flat().sort((one, other) => other.created_at.localeCompare(one.created_at));
  if (last !== undefined) return last.trace_id;
  throw new UsageError('There is no trace to replay yet: "proctor run" makes one.');
}

async function replayHere(named: string, options: ReplayOptions, stop: AbortSignal): Promise<Trace> {
  await using installation = await openInstallation();
  await using _telemetry = await startTelemetry({ ...installation, warn: note });
  const { store } = installation;
  const traceId = await findTrace(named, (query) => store.list({ ...query, account: 'local' }));
  const row = TRACE_ID_PATTERN.test(traceId) ? await store.row(traceId) : undefined;
  if (row === undefined) {
    const hint = '"proctor traces list" shows those that there are';
    throw new ApiError('trace_not_found', `There is no trace ${JSON.stringify(traceId)}: ${hint}.`);
  }
  assertEnded({ trace_id: traceId, status: row.status });
  const name = row.request.env_name;
  const { environments, directory } = installation;
  const { target } =
    options.environment === undefined
      ? environmentOfTrace(name, environments)
      : resolveEnvironment(options.environment, environments, directory);
  await using player = createPlayer(installation, new Map([[name, target]]), options);
  const replayed = await player.play(toReplay(row), options.quiet ? () => {} : createRunView(), stop);
  if (!options.json) note(colors.dim(await howToOpen([replayed.trace_id], installation.settings.appUrl)));
  return replayed;
}

async function replayAtService(baseUrl: string, named: string, stop: AbortSignal): Promise<Trace> {
  const service = await connectService(baseUrl);
  const traceId = await findTrace(named, (query) => service.traces.list(query));
  const { trace_id } = await service.traces.replay(traceId);
  const cancel = () => void service.traces.cancel(trace_id).catch(() => {}); // Over anyway.
  stop.addEventListener('abort', cancel, { once: true });
  return await service.runs.wait(trace_id);
}

function report({ replay: result, status, error, trace_url }: Trace): void {
  note(colors.dim(trace_url));
  if (result === null) {
    print(
      colors.red(
        `not replayed: ${status}${error === null ? '' : ` at ${error.boundary}: ${printable(error.message, SHOWN)}`}`,
      ),
    );
  } else if (result.difference === null) print(colors.green('identical'));
  else printDifference(result.difference);
}

function printDifference({ at, step, call, before, after }: Difference): void {
  const place = step === null ? `the ${at}` : `${step === 0 ? '' : `step ${step}, `}call ${call}`;
  print(colors.red(`differs at ${place}`));
  print(`before  ${printable(JSON.stringify(before), SHOWN)}`);
  print(`now     ${printable(JSON.stringify(after), SHOWN)}`);
}
