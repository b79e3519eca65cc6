import type { Command } from 'commander';
import type { EvaluationDetail } from '../../contract/evaluation.ts';
import { SilentFailure } from '../failure.ts';
import { howToOpen } from '../how-to-open.ts';
import { type Installation, openInstallation } from '../installation.ts';
import { addPoolOptions, type PoolCommandOptions } from '../pool-options.ts';
import { listenForStop } from '../signals.ts';
import { startTelemetry } from '../telemetry.ts';
import { colors, note, printJson } from '../terminal.ts';
import { grouped } from './figures.ts';
import { followToEnd, hasEnded } from './follow.ts';
import { createProgressView, type ProgressView } from './live-view.ts';
import { type Evaluations, evaluationsOf, openEvaluations, type PlaceOptions, placeWords } from './open-evaluations.ts';
import { hasValidAttempt } from './report-text.ts';
import { tellReport } from './show.ts';
import { workOn } from './work-here.ts';

/** Options of the commands that see an evaluation through. */
export interface FollowOptions extends PlaceOptions, PoolCommandOptions {
  readonly wait?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export function addFollowOptions(command: Command): Command {
  return addPoolOptions(command)
    .option('--no-wait', 'set it going and end at once: a service or workers of the same database do the work')
    .option('-q, --quiet', 'no progress, only the report')
    .option('--json', 'print the evaluation with its reports as one JSON object');
}

/** Where an evaluation is worked on; `installation` is that of this directory, undefined for a service. */
export interface Workplace extends Evaluations {
  readonly installation: Installation | undefined;
}

/** @param begin finds or makes the evaluation; what is wrong is found there, before anything runs. */
export async function followEvaluation(
  options: FollowOptions,
  begin: (place: Workplace, view: ProgressView, stop: AbortSignal) => Promise<Pick<EvaluationDetail, 'evaluation_id'>>,
): Promise<void> {
  using stop = listenForStop(() => note(colors.yellow(STOPPING[options.service === undefined ? 'here' : 'service'])));
  await using place = await openWorkplace(options, stop.signal);
  const isQuiet = options.quiet === true || options.wait === false;
  let evaluation: EvaluationDetail;
  {
    using view = createProgressView({ output: process.stderr, isQuiet });
    const { evaluation_id } = await begin(place, view, stop.signal);
    evaluation = await see(evaluation_id, place, options, { view, stop: stop.signal });
  }
  if (options.json) printJson(evaluation);
  else if (options.wait === false)
    note(`${evaluation.evaluation_id} is ${evaluation.status}: ${evaluation.evaluation_url}`);
  else await tellEnd(evaluation, place);
  if (options.wait === false) return;
  if (evaluation.status !== 'completed' || !hasValidAttempt(evaluation)) throw new SilentFailure();
}

const STOPPING = {
  here: 'Stopping: its runs are given back, and what has ended is kept. Once more ends it at once.',
  service: 'Stopping: the evaluation goes on at the service.',
} as const;

async function openWorkplace(options: FollowOptions, stop: AbortSignal): Promise<Workplace> {
  if (options.service !== undefined) return { ...(await openEvaluations(options)), installation: undefined };
  const installation = await openInstallation();
  try {
    const telemetry = await startTelemetry({ ...installation, stop, warn: note });
    return {
      ...evaluationsOf(installation),
      installation,
      async [Symbol.asyncDispose]() {
        await telemetry[Symbol.asyncDispose]();
        await installation[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await installation[Symbol.asyncDispose]();
    throw error;
  }
}

async function see(
  evaluationId: string,
  place: Workplace,
  options: FollowOptions,
  { view, stop }: { readonly view: ProgressView; readonly stop: AbortSignal },
): Promise<EvaluationDetail> {
  if (options.wait === false || stop.aborted) return await place.client.get(evaluationId);
  if (place.installation === undefined) return await followToEnd(place, evaluationId, view, stop);
  await using _work = workOn(place.installation, options, view);
  return await followToEnd(place, evaluationId, view, stop);
}

async function tellEnd(evaluation: EvaluationDetail, place: Workplace): Promise<void> {
  const { evaluation_id, evaluation_url, status } = evaluation;
  await tellReport(evaluation, place);
  note('');
  if (!hasEnded(evaluation)) {
    const { done, total } = evaluation.progress;
    const rest = `${grouped(done)} of ${grouped(total)} attempts are done`;
    const how =
      place.service === undefined
        ? `the same command goes on with it, and so does "proctor eval resume ${evaluation_id}" or a service of this database`
        : `it goes on at the service: "proctor eval cancel ${evaluation_id}${placeWords(place)}" ends it`;
    note(`It is ${status}, ${rest}; ${how}.`);
  }
  note(colors.dim(evaluation_url));
  const { installation } = place;
  if (installation !== undefined) note(colors.dim(await howToOpen([evaluation_id], installation.settings.appUrl)));
  const [a, b, ...more] = evaluation.models;
  if (a !== undefined && b !== undefined && more.length === 0 && hasEnded(evaluation)) {
    const models = `--a-model ${shellWord(a)} --b-model ${shellWord(b)}`;
    note(colors.dim(`To compare the models: npx proctor eval compare ${evaluation_id} ${models}${placeWords(place)}`));
  }
}

function shellWord(word: string): string {
  return /^[\w=.,:/@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
