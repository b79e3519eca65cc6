import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import type { ServiceClient } from '../../client/service-client.ts';
import { messageOf } from '../../contract/errors.ts';
import { MAX_STEPS } from '../../contract/names.ts';
import type { Trace } from '../../contract/service/trace.ts';
import { SilentFailure, UsageError } from '../base/failure.ts';
import { howToOpen } from '../base/how-to-open.ts';
import { collect, parseFork, parseNumber, parseSampling, parseServiceUrl, wholeNumber } from '../base/options.ts';
import { openPlace } from '../base/place.ts';
import { addPoolOptions } from '../base/pool-options.ts';
import { listenForStop } from '../base/signals.ts';
import { colors, note } from '../base/terminal.ts';
import { playRun } from './play-run.ts';
import { type PlannedRun, planRuns, type RunSettings, toInput } from './run-plan.ts';
import { reportRuns } from './run-report.ts';
import { createRunView, describeOutcome } from './run-view.ts';

const MAX_RUNS = 10_000;
const MAX_CONCURRENCY = 1_000;

export function addRunCommand(program: Command): void {
  const command = program
    .command('run [environment] [scenario]')
    .description('Run a scenario with a model and print its reward.')
    .option('--arg <name=value>', 'an argument of the scenario; may be repeated', collect)
    .option('--args <json>', 'the arguments as one JSON object')
    .option(
      '--agent <agent>',
      'an agent that plays with the model: claude, codex, gemini, opencode, acp:<command>, or one of proctor.config.ts',
    )
    .option(
      '--model <model>',
      'a model of the gateway, proctor/oracle, proctor/noop or proctor/random (default: proctor/oracle; of a fork, that of its trace)',
    )
    .option('--user-model <model>', 'plays the simulated user (default: of the scenario, else models.user)')
    .option('--judge-model <model>', 'judges (default: of the question, else models.judge)')
    .option(
      '--fork <trace@step>',
      'repeat the steps of a trace up to this one, and let the model go on; 0 is before the first',
      parseFork,
    )
    .option('-n, --runs <count>', 'how many times', wholeNumber(1, MAX_RUNS), 1)
    .option('--concurrency <count>', 'how many at once (default: the number of cores)', wholeNumber(1, MAX_CONCURRENCY))
    .option('--min-reward <reward>', 'exit with 1 when the mean reward is lower', parseNumber)
    .option(
      '--max-steps <count>',
      'responses the model may give in a run, 1 to 500 (default 100)',
      wholeNumber(1, MAX_STEPS.maximum),
    )
    .option('--timeout <seconds>', 'time for a run, 1 to 86,400 (default 3600)', wholeNumber(1, 86_400))
    .option(
      '--seed <seed>',
      'forwarded to the model; each of several runs gets one more',
      wholeNumber(Number.MIN_SAFE_INTEGER),
    )
    .option('--temperature <number>', 'forwarded to the model', parseNumber)
    .option('--sampling <json>', 'further parameters for the model, as one JSON object: {"top_p":0.9}', parseSampling)
    .option('--metadata <name=value>', 'text to find the run by; may be repeated', collect)
    .option('--service <url>', 'run at this run service, with the key of PROCTOR_API_KEY', parseServiceUrl);
  addPoolOptions(command)
    .option('-q, --quiet', 'no steps, only how each run ended')
    .option('--full', 'show whole texts, with the stacks and the debug messages of the log')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The environment is a name (environments/<name> of this directory, or of proctor.config.ts), the path of a module, or a URL.
A value of --arg is text where the scenario takes text, and read as JSON elsewhere.

Without a scenario it lists those that there are, with their arguments, and ends with 2.

With --fork environment, scenario and arguments are those of the trace, and may be left out. If a repeated step gives
something else today, the run fails with both.

With --service the runs are those of a run service, executed by its workers: the environment is the name that it has there.

Exit code: 0 when every run completed and the mean reward is at least --min-reward; 1 when not, and when Ctrl-C or SIGTERM
stopped the command (its runs are cancelled, their environments closed in order); 2 when the command is wrong, and nothing ran.

Examples:
  $ proctor run counter count_to --arg target=3
  $ proctor run retail task --arg task_id=1 --model gpt-5-mini -n 8 --min-reward 0.9
  $ proctor run retail task --arg task_id=1 --model gpt-5-mini --temperature 0.2 --metadata night=2026-01-31 --timeout 600
  $ proctor run counter count_to --arg target=3 --agent codex --model gpt-5
  $ PROCTOR_API_KEY=... proctor run retail task --arg task_id=1 -n 8 --service https://proctor.example
  $ proctor run --fork 0af7651916cd43dd8448eb211c80319c@4 --model gpt-5-mini -n 8
  $ proctor run ./my/environment.ts solve --args '{"size":[3,4]}' --model proctor/random --seed 7 --json`,
    )
    .action(run);
}

interface RunCommandOptions extends RunSettings {
  readonly service?: string;
  readonly concurrency?: number;
  readonly minReward?: number;
  readonly quiet?: boolean;
  readonly full?: boolean;
  readonly json?: boolean;
}

async function run(
  environment: string | undefined,
  scenario: string | undefined,
  options: RunCommandOptions,
): Promise<void> {
  if (environment === undefined && options.fork === undefined) {
    throw new UsageError(
      'Name an environment, or a trace to go on with: --fork <trace@step>. "proctor list" shows the environments.',
    );
  }
  await using place = await openPlace({ ...options, environment, plays: 'own' });
  const requests = await planRuns(
    { client: place.client, typed: environment, name: place.environment, scenario },
    options,
  );
  using stop = listenForStop(() =>
    note(colors.yellow('Stopping: runs are cancelled, environments closed in order. Once more ends it at once.')),
  );
  const { traces, failure } = await playAll(place.client, requests, options, stop.signal);
  if (traces.length === 0 && failure !== undefined) throw failure.error;
  if (failure !== undefined) note(colors.red(`No further run was begun: ${messageOf(failure.error)}`));
  if (!options.json && place.here !== undefined) {
    const traceIds = traces.map(({ trace_id }) => trace_id);
    note(colors.dim(await howToOpen(traceIds, place.here.installation.settings.appUrl)));
  }
  const passed = await reportRuns(traces, options);
  if (!passed) throw new SilentFailure();
}

/** Plays all runs. Traces are in the order of the requests; runs that did not start are left out. */
async function playAll(
  client: ServiceClient,
  requests: readonly PlannedRun[],
  { concurrency = availableParallelism(), quiet = false, full = false }: RunCommandOptions,
  stop: AbortSignal,
): Promise<PlayedRuns> {
  const traces: (Trace | undefined)[] = requests.map(() => undefined);
  const waiting = requests.entries();
  let failure: PlayedRuns['failure'];
  const playNext = async (): Promise<void> => {
    for (const [index, request] of waiting) {
      if (stop.aborted || failure !== undefined) return;
      const label = requests.length === 1 ? '' : `${colors.dim(`#${index + 1}`)} `;
      const show = quiet ? () => {} : createRunView({ label, isFull: full });
      try {
        const trace = await playRun(client, () => client.runs.create(toInput(request)), show, stop);
        note(`${label}${describeOutcome(trace)}  ${colors.dim(trace.trace_url)}`);
        traces[index] = trace;
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, requests.length) }, playNext));
  return { traces: traces.filter((trace) => trace !== undefined), failure };
}

interface PlayedRuns {
  readonly traces: readonly Trace[];
  /** The first run that was refused or could not be followed. No further run starts; active ones continue. */
  readonly failure: { readonly error: unknown } | undefined;
}
