import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { checkScenarioArgs, createCatalogue } from '../client/catalogue.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { resolveEnvironment } from '../config/find-environments.ts';
import { MAX_STEPS } from '../contract/names.ts';
import { type RunRequest, runRequestSchema } from '../contract/run.ts';
import type { Trace } from '../contract/trace.ts';
import type { Lease } from '../queue/run-queue.ts';
import { RunInterrupted } from '../rollout/run.ts';
import { executeLease } from '../run-service/leased-run.ts';
import { SilentFailure, UsageError } from './failure.ts';
import { howToOpen } from './how-to-open.ts';
import { type Installation, openInstallation } from './installation.ts';
import { createLogger } from './logger.ts';
import { collect, parseNumber, parseScenarioArgs, wholeNumber } from './options.ts';
import { reportRuns } from './run-report.ts';
import { createRunView, describeOutcome } from './run-view.ts';
import { listenForStop } from './signals.ts';
import { startTelemetry } from './telemetry.ts';
import { colors, note } from './terminal.ts';

const MAX_RUNS = 10_000;
const MAX_CONCURRENCY = 1_000;

export function addRunCommand(program: Command): void {
  program
    .command('run <environment> <scenario>')
    .description('Run a scenario with a model, here and now, and print its reward.')
    .option('--arg <name=value>', 'an argument of the scenario; may be repeated', collect)
    .option('--args <json>', 'the arguments as one JSON object')
    .option(
      '--model <model>',
      'a model of the gateway, proctor/oracle, proctor/noop or proctor/random',
      'proctor/oracle',
    )
    .option('-n, --runs <count>', 'how many times', wholeNumber(1, MAX_RUNS), 1)
    .option('--concurrency <count>', 'how many at once (default: the number of cores)', wholeNumber(1, MAX_CONCURRENCY))
    .option('--min-reward <reward>', 'exit with 1 when the mean reward is lower', parseNumber)
    .option(
      '--max-steps <count>',
      'responses the model may give in a run, 1 to 500 (default 100)',
      wholeNumber(1, MAX_STEPS.maximum),
    )
    .option('--timeout-seconds <seconds>', 'time for a run (default 3600)', wholeNumber(1, 86_400))
    .option(
      '--seed <seed>',
      'forwarded to the model; each of several runs gets one more',
      wholeNumber(Number.MIN_SAFE_INTEGER),
    )
    .option('-q, --quiet', 'no steps, only how each run ended')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The environment is a name (environments/<name> of this directory, or of proctor.config.ts), the path of a module, or a URL.
A value of --arg is text where the scenario takes text, and read as JSON elsewhere.

Exit code: 0 when every run completed and the mean reward is at least --min-reward; 1 when not, and when Ctrl-C or SIGTERM
stopped the command (its runs are cancelled, their environments closed in order); 2 when the command is wrong, and nothing ran.

Examples:
  $ proctor run counter count_to --arg target=3
  $ proctor run retail task --arg task_id=1 --model gpt-5-mini -n 8 --min-reward 0.9
  $ proctor run ./my/environment.ts solve --args '{"size":[3,4]}' --model proctor/random --seed 7 --json`,
    )
    .action(run);
}

interface RunCommandOptions {
  readonly arg?: readonly string[];
  readonly args?: string;
  readonly model: string;
  readonly runs: number;
  readonly concurrency?: number;
  readonly minReward?: number;
  readonly maxSteps?: number;
  readonly timeoutSeconds?: number;
  readonly seed?: number;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

async function run(environment: string, scenario: string, options: RunCommandOptions): Promise<void> {
  await using installation = await openInstallation();
  await using _telemetry = await startTelemetry({ ...installation, warn: note });
  const plan = await planRuns(installation, environment, scenario, options);
  using stop = listenForStop(() =>
    note(colors.yellow('Stopping: runs are cancelled, environments closed in order. Once more ends it at once.')),
  );
  const traces = await playAll(installation, plan, stop.signal);
  if (!options.json) note(colors.dim(howToOpen(traces.map(({ trace_id }) => trace_id))));
  const passed = reportRuns(traces, options);
  if (!passed) throw new SilentFailure();
}

interface Plan {
  readonly name: string;
  readonly target: EnvironmentTarget;
  readonly requests: readonly RunRequest[];
  readonly concurrency: number;
  readonly isQuiet: boolean;
}

/** Everything that can be wrong with the command is found before the first run exists. */
async function planRuns(
  installation: Installation,
  environment: string,
  scenario: string,
  options: RunCommandOptions,
): Promise<Plan> {
  const { name, target } = resolveEnvironment(environment, installation.environments, installation.directory);
  installation.models.check(options.model);
  parseScenarioArgs(options.args, options.arg); // Nobody waits for an environment to hear of a slip of the pen.
  const catalogue = createCatalogue(new Map([[name, target]]));
  try {
    const entry = await catalogue.find(name, scenario);
    const args = parseScenarioArgs(options.args, options.arg, entry.args_schema);
    checkScenarioArgs(entry, args);
    const requests = Array.from({ length: options.runs }, (_, index) =>
      toRequest({ env_name: name, scenario_name: entry.short_name, scenario_args: args }, options, index),
    );
    const { concurrency = availableParallelism(), quiet = false } = options;
    return { name, target, requests, concurrency, isQuiet: quiet };
  } finally {
    await catalogue.close();
  }
}

function toRequest(what: object, options: RunCommandOptions, index: number): RunRequest {
  const parsed = runRequestSchema.safeParse({
    ...what,
    model: options.model,
    max_steps: options.maxSteps,
    timeout_seconds: options.timeoutSeconds,
    seed: options.seed === undefined ? null : options.seed + index,
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UsageError(`--${String(issue?.path[0]).replaceAll('_', '-')}: ${issue?.message}`);
}

/** In the order of the requests; those that did not begin before the command was stopped are left out. */
async function playAll(installation: Installation, plan: Plan, stop: AbortSignal): Promise<readonly Trace[]> {
  const traces: (Trace | undefined)[] = plan.requests.map(() => undefined);
  const waiting = plan.requests.entries();
  const playNext = async (): Promise<void> => {
    for (const [index, request] of waiting) {
      if (stop.aborted) return;
      const label = plan.requests.length === 1 ? '' : `${colors.dim(`#${index + 1}`)} `;
      traces[index] = await playOne(installation, plan, { request, label }, stop);
    }
  };
  await Promise.all(Array.from({ length: Math.min(plan.concurrency, plan.requests.length) }, playNext));
  return traces.filter((trace) => trace !== undefined);
}

/**
 * The run goes the way of every run: a row, its first event and a queue entry in one commit. Only that this process
 * holds the entry from the start; should it die, a worker of the same database finishes the run.
 */
async function playOne(
  installation: Installation,
  plan: Plan,
  { request, label }: { readonly request: RunRequest; readonly label: string },
  stop: AbortSignal,
): Promise<Trace> {
  const { store, queue, models } = installation;
  const traceId = randomBytes(16).toString('hex');
  const worker = `command_${process.pid}`;
  const unsubscribe = plan.isQuiet ? () => {} : store.subscribe(traceId, createRunView(label));
  // Its own, since a run is stopped by its heartbeat too, when its lease is lost or someone cancels it.
  const interrupt = new AbortController();
  const cancel = () => interrupt.abort(new RunInterrupted('cancelled'));
  stop.addEventListener('abort', cancel);
  try {
    let lease: Lease | undefined;
    await store.create({ traceId, account: 'local', queued: { ...request, origin: 'run' } }, async (transaction) => {
      lease = await queue.enqueueLeased({ traceId, priority: request.priority }, worker, transaction);
    });
    if (lease === undefined) throw new TypeError('A trace was created without its queue entry');
    const environments = new Map([[plan.name, plan.target]]);
    await executeLease(lease, interrupt, {
      environments,
      store,
      queue,
      models,
      logger: createLogger('error', installation.redactor),
      worker,
    });
    const trace = await store.trace(traceId);
    if (trace === undefined) throw new Error(`Trace ${traceId} is gone: it was deleted while it ran.`);
    note(`${label}${describeOutcome(trace)}  ${colors.dim(trace.trace_url)}`);
    return trace;
  } finally {
    stop.removeEventListener('abort', cancel);
    unsubscribe();
  }
}
