import type { Command } from 'commander';
import type { Difference } from '../../contract/service/replay.ts';
import type { RunStatus } from '../../contract/service/run.ts';
import { type Origin, originSchema, type Trace, type TraceSummary } from '../../contract/service/trace.ts';
import { SilentFailure, UsageError } from '../base/failure.ts';
import { howToOpen } from '../base/how-to-open.ts';
import { parseServiceUrl } from '../base/options.ts';
import { openPlace, type Place } from '../base/place.ts';
import { addPoolOptions, type PoolCommandOptions } from '../base/pool-options.ts';
import { listenForStop } from '../base/signals.ts';
import { isLast, takeLast } from '../base/take-last.ts';
import { colors, note, print, printable, printJson } from '../base/terminal.ts';
import { playRun } from './play-run.ts';
import { createRunView } from './run-view.ts';

/** States of a run that can be replayed. */
const ENDS: readonly RunStatus[] = ['completed', 'failed', 'cancelled'];

/** Most characters of each side of a difference. */
const SHOWN = 1_000;

export function addReplayCommand(program: Command): void {
  const command = program
    .command('replay <trace_id>')
    .description('Repeat the tool calls of a trace in the current environment, and show the first difference.')
    .option(
      '--environment <environment>',
      'another one than the trace names: a name, or in this directory the path of a module or a URL',
    )
    .option('--service <url>', 'replay a trace of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl);
  addPoolOptions(command)
    .option('-q, --quiet', 'no steps, only what came out')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
No model is asked. The replay is a trace of its own: prompt, tools, each result and the reward are compared with those of the
trace, without what its scenario calls volatile. A difference does not stop it. "last" is the newest trace that has ended, is no
replay and of no check: always the newest of what a command takes, and of traces and evaluations the newest evaluation.

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
  await using place = await openPlace({ ...options, plays: 'own' });
  const trace = await replayAt(place, traceId, options, stop.signal);
  const { replay: result } = trace;
  if (options.json)
    printJson({ trace_id: trace.trace_id, trace_url: trace.trace_url, status: trace.status, replay: result });
  else report(trace);
  if (result?.identical !== true) throw new SilentFailure();
}

/** Finds a trace by id, or the newest ended one that is neither a replay nor of a check. @throws UsageError. */
async function findTrace(
  named: string,
  list: (query: {
    readonly origin: Origin;
    readonly status: RunStatus;
    readonly limit: number;
  }) => Promise<{ readonly data: readonly TraceSummary[] }>,
): Promise<string> {
  if (!isLast(named)) return named;
  // A query for each origin and status: newer replays of a regrade, or queued runs of a paused evaluation, could fill a
  // whole page.
  const origins = originSchema.options.filter((origin) => origin !== 'replay' && origin !== 'check');
  const looks = origins.flatMap((origin) => ENDS.map((status) => ({ origin, status, limit: 1 })));
  const newest = await Promise.all(looks.map(async (look) => (await list(look)).data));
  const [last] = newest.flat().sort((one, other) => other.created_at.localeCompare(one.created_at));
  if (last !== undefined) return takeLast('trace', last.trace_id);
  throw new UsageError('There is no run yet that has ended: "proctor run" makes one.');
}

async function replayAt(
  { client, here, environment }: Place,
  named: string,
  { quiet = false, json = false }: ReplayOptions,
  stop: AbortSignal,
): Promise<Trace> {
  const traceId = await findTrace(named, (query) => client.traces.list(query));
  const show = quiet ? () => {} : createRunView();
  const replayed = await playRun(client, () => client.traces.replay(traceId, { environment }), show, stop);
  if (!json && here !== undefined)
    note(colors.dim(await howToOpen([replayed.trace_id], here.installation.settings.appUrl)));
  return replayed;
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
