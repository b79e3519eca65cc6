import { type Command, Option } from 'commander';
import { isEnded } from '../../contract/service/ended.ts';
import { type TrainingJob, trainingStatusSchema } from '../../contract/service/training.ts';
import type { TrainingStatus } from '../../contract/service/training-states.ts';
import { SilentFailure, UsageError } from '../base/failure.ts';
import { findEvaluation } from '../base/find-evaluation.ts';
import { parseServiceUrl, wholeNumber } from '../base/options.ts';
import { openPlace, type Place } from '../base/place.ts';
import { listenForStop } from '../base/signals.ts';
import { isLast, takeLast } from '../base/take-last.ts';
import { colors, note, print, printable, printJson, printTable } from '../base/terminal.ts';
import { eventLine, jobLines, judgeGain } from './train/job-text.ts';
import {
  addFollowOptions,
  addTrainOptions,
  type FollowOptions,
  type TrainOptions,
  toTrainingInput,
} from './train/train-options.ts';

export function addTrainCommand(program: Command): void {
  const command = program
    .enablePositionalOptions()
    .command('train')
    .description('Train a model on successful runs, and measure on other tasks whether it improved.')
    .enablePositionalOptions();
  addFollowOptions(addTrainOptions(command)).addHelpText('after', HELP).action(train);
  addFollowOptions(
    command.command('follow <job>').description('Go on with a job that was begun, and watch it to its end.'),
  ).action(follow);
  withService(command.command('list').description('List training jobs, newest first.'))
    .addOption(new Option('--status <status>', 'in this state').choices(trainingStatusSchema.options))
    .option('--limit <count>', 'of one page, 1 to 100 (default 50)', wholeNumber(1, 100))
    .option('--cursor <cursor>', 'the page after this one, as the last page says')
    .action(list);
  withService(command.command('show <job>').description('Show a job with its dataset, checkpoints and gain.')).action(
    show,
  );
  withService(
    command.command('cancel <job>').description('End a job: its trainer is told. A model that is finished stays.'),
  ).action(cancel);
  withService(command.command('providers').description('List the trainers that there are.')).action(providers);
}

const HELP = `
The job builds a dataset of the successful runs and gives it to the trainer. Once the model answers, it is registered under its
name. With --evaluate it is compared with its base on tasks that it was not trained on. Ctrl-C leaves the job as it is:
"proctor train follow <job>", a service or a worker of the same database goes on with it.

Trainers are in "trainers" of proctor.config.ts. proctor/imitation is always there: it needs no key, and does what was done in
the nearest of the runs.

The end says whether the model is better or worse than its base. --min-gain makes the exit code say it too.
A gain is met when the whole 95 % interval meets it. It is missed when the whole interval misses it.

Exit code: 0 when the model is there and has the gain of --min-gain; 1 when the job failed, was cancelled or was left, or the gain is
missed; 2 when the command is wrong; 3 when the interval contains the gain; 4 when there is no proof to judge it by.

Examples:
  $ proctor train --name better --base gpt-5-mini --provider openai --evaluation nightly --held-out exam --evaluate
  $ proctor train --name better --base proctor/novice --evaluation last --include-reference --split train
  $ proctor train follow last`;

function withService(command: Command): Command {
  return command
    .option('--service <url>', 'jobs of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .option('--json', 'print what the service answers, as JSON');
}

async function train(options: TrainOptions): Promise<void> {
  if (options.minGain !== undefined && options.evaluate === undefined) throw withoutProof('add --evaluate');
  await see(options, async (place, signal) => {
    const { evaluations: client, training } = place.client;
    const find = (named: string) => findEvaluation(named, { client, service: place.service });
    const evaluations = await Promise.all((options.evaluation ?? []).map(find));
    const { job_id } = await training.create(toTrainingInput(options, evaluations), { signal });
    return job_id;
  });
}

async function follow(named: string, options: FollowOptions): Promise<void> {
  await see(options, (place) => findJob(named, place));
}

async function see(
  options: FollowOptions,
  begin: (place: Place, signal: AbortSignal) => Promise<string>,
): Promise<void> {
  const { minGain } = options;
  if (minGain !== undefined && options.wait === false) {
    throw new UsageError('--min-gain judges the end of the job: leave --no-wait away.');
  }
  using stop = listenForStop(() => note(colors.yellow('Stopping: the job stays as it is, and can be followed again.')));
  const plays = options.wait === false ? {} : ({ plays: 'queue' } as const);
  await using place = await openPlace({ ...options, ...plays, write: (line) => note(line.trimEnd()) });
  const { training } = place.client;
  const jobId = await begin(place, stop.signal);
  if (minGain !== undefined && (await training.get(jobId)).evaluate === null) {
    throw withoutProof('this job was begun without --evaluate');
  }
  if (options.wait !== false) await watch(jobId, place, options.quiet ?? false, stop.signal);
  const job = await training.get(jobId);
  if (options.json) printJson(job);
  else tell(job, place);
  if (options.wait !== false && job.status !== 'succeeded') throw new SilentFailure();
  if (minGain === undefined) return;
  const { code, sentence } = judgeGain(job, minGain);
  note(code === 0 ? sentence : colors.yellow(sentence));
  if (code !== 0) throw new SilentFailure(code);
}

function withoutProof(why: string): UsageError {
  return new UsageError(`--min-gain is judged by a comparison with the base: ${why}.`);
}

async function watch(jobId: string, { client }: Place, isQuiet: boolean, signal: AbortSignal): Promise<void> {
  try {
    for await (const event of client.training.events(jobId, { signal })) {
      const line = isQuiet ? undefined : eventLine(event);
      if (line !== undefined) note(line);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function tell(job: TrainingJob, { service }: Place): void {
  for (const line of jobLines(job)) print(line);
  const place = service === undefined ? '' : ` --service ${service}`;
  note('');
  if (job.proof?.verdict === 'worse')
    note(
      colors.yellow(
        `It is registered, and worse than its base: npx proctor models remove ${job.name} takes its name away.`,
      ),
    );
  else if (job.status === 'succeeded')
    note(colors.dim(`It is a model now: npx proctor eval <taskset> --model ${job.name}${place}`));
  else if (!isEnded(job.status)) note(colors.dim(`npx proctor train follow ${job.job_id}${place} goes on with it.`));
  note(colors.dim(job.job_url));
}

interface ControlOptions {
  readonly service?: string;
  readonly json?: boolean;
}

interface ListOptions extends ControlOptions {
  readonly status?: TrainingStatus;
  readonly limit?: number;
  readonly cursor?: string;
}

async function list({ service, json, ...query }: ListOptions): Promise<void> {
  await using place = await openPlace({ service });
  const page = await place.client.training.list(query);
  if (json) return printJson(page);
  if (page.data.length === 0) return note('There are no training jobs like that: "proctor train" makes one.');
  printTable([
    ['JOB', 'MADE', 'STATE', 'MODEL', 'BASE', 'TRAINER', 'LINES'],
    ...page.data.map((job) => [
      ...[job.job_id, job.created_at.slice(0, 16).replace('T', ' '), job.status],
      ...[job.name, printable(job.base, 28), printable(job.provider, 28), String(job.dataset?.lines.train ?? '-')],
    ]),
  ]);
  if (page.next_cursor !== null) note(colors.dim(`There are more: --cursor ${page.next_cursor}`));
}

async function show(named: string, { json, ...options }: ControlOptions): Promise<void> {
  await using place = await openPlace(options);
  const job = await place.client.training.get(await findJob(named, place));
  if (json) return printJson(job);
  tell(job, place);
}

async function cancel(named: string, { json, ...options }: ControlOptions): Promise<void> {
  await using place = await openPlace(options);
  const job = await place.client.training.cancel(await findJob(named, place));
  if (json) return printJson(job);
  const rest = isEnded(job.status)
    ? ''
    : ': its trainer is told as soon as a service, a worker or "proctor train follow" works on it';
  print(`${job.job_id} is ${isEnded(job.status) ? job.status : 'being cancelled'}${rest}.`);
}

async function providers({ json, ...options }: ControlOptions): Promise<void> {
  await using place = await openPlace(options);
  const known = await place.client.training.providers();
  if (json) return printJson(known);
  printTable([
    ['TRAINER', 'KIND', 'METHODS', 'LINES AT LEAST'],
    ...known.data.map(({ name, kind, methods, minimum_lines }) => [
      name,
      kind,
      methods.join(', '),
      String(minimum_lines),
    ]),
  ]);
}

/** Finds a job by its id, by `last`, or by the name of its model (the newest job). @throws UsageError */
async function findJob(named: string, { client }: Place): Promise<string> {
  if (named.startsWith('train_')) return named;
  const page = await client.training.list(isLast(named) ? { limit: 1 } : { limit: 1, name: named });
  const [found] = page.data;
  if (found !== undefined) return isLast(named) ? takeLast('training job', found.job_id) : found.job_id;
  throw new UsageError(
    isLast(named)
      ? 'There is no training job yet: "proctor train" makes one.'
      : `There is no training job ${JSON.stringify(printable(named, 80))}: "proctor train list" shows those that there are.`,
  );
}
