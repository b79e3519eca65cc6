import { type Command, Option } from 'commander';
import { type TrainingJob, trainingStatusSchema } from '../contract/training.ts';
import { isTrainingEnd, type TrainingStatus } from '../contract/training-states.ts';
import { findEvaluation } from './eval/find-evaluation.ts';
import { evaluationsOf, openEvaluations } from './eval/open-evaluations.ts';
import { workOn } from './eval/work-here.ts';
import { SilentFailure, UsageError } from './failure.ts';
import { parseServiceUrl, wholeNumber } from './options.ts';
import { listenForStop } from './signals.ts';
import { colors, note, print, printable, printJson, printTable } from './terminal.ts';
import { eventLine, jobLines } from './train/job-text.ts';
import { openTraining, type PlaceOptions, type TrainingPlace } from './train/open-training.ts';
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
    .description('Train a model on successful runs, and prove on other tasks that it got better.')
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

Exit code: 0 when the model is there; 1 when the job failed, was cancelled or was left; 2 when the command is wrong.

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
  await see(options, async (place, signal) => {
    const evaluations = await findEvaluations(options.evaluation ?? [], place);
    const { job_id } = await place.client.create(toTrainingInput(options, evaluations), { signal });
    return job_id;
  });
}

async function follow(named: string, options: FollowOptions): Promise<void> {
  await see(options, (place) => findJob(named, place));
}

/** Ids of evaluations by their names, `last`, or beginnings of ids. */
async function findEvaluations(named: readonly string[], { installation, service }: TrainingPlace): Promise<string[]> {
  if (named.length === 0) return [];
  if (installation !== undefined) {
    const evaluations = { ...evaluationsOf(installation), [Symbol.asyncDispose]: async () => {} };
    return await Promise.all(named.map((name) => findEvaluation(name, evaluations)));
  }
  await using evaluations = await openEvaluations(service === undefined ? {} : { service });
  return await Promise.all(named.map((name) => findEvaluation(name, evaluations)));
}

async function see(
  options: FollowOptions,
  begin: (place: TrainingPlace, signal: AbortSignal) => Promise<string>,
): Promise<void> {
  using stop = listenForStop(() => note(colors.yellow('Stopping: the job stays as it is, and can be followed again.')));
  await using place = await openTraining(options);
  const jobId = await begin(place, stop.signal);
  if (options.wait !== false) await watch(jobId, place, options, stop.signal);
  const job = await place.client.get(jobId);
  if (options.json) printJson(job);
  else tell(job, place);
  if (options.wait !== false && job.status !== 'succeeded') throw new SilentFailure();
}

async function watch(
  jobId: string,
  { client, installation }: TrainingPlace,
  options: FollowOptions,
  signal: AbortSignal,
): Promise<void> {
  const view = { note, show: () => {}, [Symbol.dispose]: () => {} };
  await using _work = installation && workOn(installation, options, view);
  try {
    for await (const event of client.events(jobId, { signal })) {
      const line = options.quiet ? undefined : eventLine(event);
      if (line !== undefined) note(line);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function tell(job: TrainingJob, { service }: TrainingPlace): void {
  for (const line of jobLines(job)) print(line);
  const place = service === undefined ? '' : ` --service ${service}`;
  note('');
  if (job.status === 'succeeded')
    note(colors.dim(`It is a model now: npx proctor eval <taskset> --model ${job.name}${place}`));
  else if (!isTrainingEnd(job.status))
    note(colors.dim(`npx proctor train follow ${job.job_id}${place} goes on with it.`));
  note(colors.dim(job.job_url));
}

interface ListOptions extends PlaceOptions {
  readonly status?: TrainingStatus;
  readonly limit?: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

async function list({ service, json, ...query }: ListOptions): Promise<void> {
  await using place = await openTraining(service === undefined ? {} : { service });
  const page = await place.client.list(query);
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

interface ControlOptions extends PlaceOptions {
  readonly json?: boolean;
}

async function show(named: string, { json, ...options }: ControlOptions): Promise<void> {
  await using place = await openTraining(options);
  const job = await place.client.get(await findJob(named, place));
  if (json) return printJson(job);
  tell(job, place);
}

async function cancel(named: string, { json, ...options }: ControlOptions): Promise<void> {
  await using place = await openTraining(options);
  const job = await place.client.cancel(await findJob(named, place));
  if (json) return printJson(job);
  const rest = isTrainingEnd(job.status)
    ? ''
    : ': its trainer is told as soon as a service, a worker or "proctor train follow" works on it';
  print(`${job.job_id} is ${isTrainingEnd(job.status) ? job.status : 'being cancelled'}${rest}.`);
}

async function providers({ json, ...options }: ControlOptions): Promise<void> {
  await using place = await openTraining(options);
  const known = await place.client.providers();
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

/** By its id, the name of its model (the newest job that makes it), or `last`. @throws UsageError */
async function findJob(named: string, { client }: TrainingPlace): Promise<string> {
  if (named.startsWith('train_')) return named;
  const page = await client.list(named === 'last' ? { limit: 1 } : { limit: 1, name: named });
  const [found] = page.data;
  if (found !== undefined) return found.job_id;
  throw new UsageError(
    named === 'last'
      ? 'There is no training job yet: "proctor train" makes one.'
      : `There is no training job ${JSON.stringify(printable(named, 80))}: "proctor train list" shows those that there are.`,
  );
}
