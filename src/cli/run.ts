import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { pino } from 'pino';
import { checkScenarioArgs, createCatalogue } from '../client/catalogue.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { resolveEnvironment } from '../config/find-environments.ts';
import { runRequestSchema } from '../contract/run.ts';
import type { Trace } from '../contract/trace.ts';
import type { Lease } from '../queue/run-queue.ts';
import { RunInterrupted } from '../rollout/run.ts';
import { executeLease } from '../run-service/leased-run.ts';
import { SilentFailure, UsageError } from './failure.ts';
import { type Installation, openInstallation } from './installation.ts';
import { collect, parseCount, parseNumber, parseScenarioArgs } from './options.ts';
import { createRunView, describeOutcome } from './run-view.ts';
import { summarize } from './statistics.ts';
import { colors, note, print, printJson } from './terminal.ts';

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
    .option('-n, --runs <count>', 'how many times', parseCount, 1)
    .option('--concurrency <count>', 'how many at once', parseCount)
    .option('--min-reward <reward>', 'exit with 1 when the mean reward is lower', parseNumber)
    .option('--max-steps <count>', 'responses the model may give in a run (1 to 500)', parseCount)
    .option('--timeout-seconds <seconds>', 'time for a run', parseCount)
    .option('--seed <seed>', 'forwarded to the model; run k of several gets seed + k', parseNumber)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The environment is a name (environments/<name> of this directory, or of proctor.config.ts), the path of a module, or a URL.
Exit code: 0 when every run completed and the mean reward is at least --min-reward, 1 when not, 2 for a wrong command.

Examples:
  $ proctor run counter count_to --arg target=3
  $ proctor run retail task --args '{"task_id":"1"}' --model gpt-5-mini -n 8 --min-reward 0.9
  $ proctor run ./my/environment.ts solve --model proctor/random --seed 7 --json`,
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
  readonly json?: boolean;
}

async function run(environment: string, scenario: string, options: RunCommandOptions): Promise<void> {
  await using installation = await openInstallation();
  const plan = await planRuns(installation, environment, scenario, options);
  const interrupt = new AbortController();
  const stopListening = onInterrupt(() => interrupt.abort(new RunInterrupted('cancelled')));
  try {
    const traces = await playAll(installation, plan, interrupt);
    report(traces, options);
  } finally {
    stopListening();
  }
}

interface Plan {
  readonly name: string;
  readonly target: EnvironmentTarget;
  readonly requests: readonly ReturnType<typeof toRequest>[];
  readonly concurrency: number;
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
  const args = parseScenarioArgs(options.args, options.arg);
  const catalogue = createCatalogue(new Map([[name, target]]));
  try {
    const entry = await catalogue.find(name, scenario);
    checkScenarioArgs(entry, args);
    const requests = Array.from({ length: options.runs }, (_, index) =>
      toRequest({ env_name: name, scenario_name: entry.short_name, scenario_args: args }, options, index),
    );
    return { name, target, requests, concurrency: options.concurrency ?? availableParallelism() };
  } finally {
    await catalogue.close();
  }
}

function toRequest(what: object, options: RunCommandOptions, index: number) {
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

async function playAll(installation: Installation, plan: Plan, interrupt: AbortController): Promise<readonly Trace[]> {
  const traces: Trace[] = [];
  const waiting = plan.requests.map((request, index) => ({
    request,
    label: plan.requests.length === 1 ? '' : `#${index + 1}`,
  }));
  const playNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined && !interrupt.signal.aborted; next = waiting.shift()) {
      traces.push(await playOne(installation, plan, next, interrupt));
    }
  };
  await Promise.all(Array.from({ length: Math.min(plan.concurrency, plan.requests.length) }, playNext));
  return traces;
}

/**
 * The run goes the way of every run: a row, its first event and a queue entry in one commit. Only that this process
 * holds the entry from the start; should it die, a worker of the same database finishes the run.
 */
async function playOne(
  installation: Installation,
  plan: Plan,
  { request, label }: { readonly request: Plan['requests'][number]; readonly label: string },
  interrupt: AbortController,
): Promise<Trace> {
  const { store, queue, models } = installation;
  const traceId = randomBytes(16).toString('hex');
  const worker = `command_${process.pid}`;
  const unsubscribe = store.subscribe(traceId, createRunView(label));
  try {
    let lease: Lease | undefined;
    await store.create({ traceId, account: 'local', queued: { ...request, origin: 'run' } }, async (transaction) => {
      lease = await queue.enqueueLeased({ traceId, priority: request.priority }, worker, transaction);
    });
    if (lease === undefined) throw new TypeError('A trace was created without its queue entry');
    const environments = new Map([[plan.name, plan.target]]);
    const logger = pino({ level: 'silent' });
    await executeLease(lease, followed(interrupt), { environments, store, queue, models, logger, worker });
    const trace = await store.trace(traceId);
    if (trace === undefined) throw new Error(`Trace ${traceId} is gone: it was deleted while it ran.`);
    note(`${label === '' ? '' : `${colors.dim(label)} `}${describeOutcome(trace)}  ${colors.dim(trace.trace_url)}`);
    return trace;
  } finally {
    unsubscribe();
  }
}

/** Each run may be stopped by its own heartbeat; Ctrl-C stops all of them. */
function followed(interrupt: AbortController): AbortController {
  const own = new AbortController();
  interrupt.signal.addEventListener('abort', () => own.abort(interrupt.signal.reason), { once: true });
  return own;
}

function onInterrupt(stop: () => void): () => void {
  const onSignal = () => {
    note(colors.yellow('Stopping; the environment is closed in order. Again: at once.'));
    process.once('SIGINT', () => process.exit(130));
    stop();
  };
  process.once('SIGINT', onSignal);
  process.once('SIGTERM', stop);
  return () => {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', stop);
  };
}

function report(traces: readonly Trace[], options: RunCommandOptions): void {
  const rewards = traces.map(({ reward }) => reward).filter((reward) => reward !== null);
  const { mean, deviation } = summarize(rewards);
  const completed = traces.filter(({ status }) => status === 'completed').length;
  const isGood =
    completed === options.runs && (options.minReward === undefined || (mean ?? -Infinity) >= options.minReward);
  if (options.json) {
    printJson({
      passed: isGood,
      runs: traces.map(({ trace_id, trace_url, status, stop_reason, reward, answer, error }) => ({
        trace_id,
        trace_url,
        status,
        stop_reason,
        reward,
        answer,
        error,
      })),
      completed,
      mean_reward: mean,
      reward_deviation: deviation,
    });
  } else if (options.runs === 1) {
    print(rewards.length === 0 ? 'no reward' : `reward ${mean}`);
  } else {
    const spread = deviation === null ? '' : ` ± ${deviation.toFixed(3)}`;
    print(
      `mean reward ${mean === null ? '–' : Number(mean.toFixed(4))}${spread} over ${rewards.length} of ${options.runs} runs`,
    );
  }
  const [first] = traces;
  if (!options.json && first !== undefined) {
    note(colors.dim(`Traces: proctor serve, then proctor open${options.runs === 1 ? ` ${first.trace_id}` : ''}`));
  }
  if (isGood) return;
  if (options.minReward !== undefined && completed === options.runs) {
    note(colors.red(`The mean reward ${mean} is below --min-reward ${options.minReward}.`));
  }
  throw new SilentFailure();
}
