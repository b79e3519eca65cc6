import type { Command } from 'commander';
import { ApiError } from '../../../contract/errors.ts';
import { SHUTDOWN_GRACE_MS } from '../../../contract/names.ts';
import { isEnded } from '../../../contract/service/ended.ts';
import type { EvaluationDetail } from '../../../contract/service/evaluation.ts';
import { readAttemptHolders } from '../../../evaluation/evaluations/attempt-holders.ts';
import { judgeGate } from '../../../evaluation/evaluations/report/judge-gate.ts';
import type { Worker } from '../../../service/runs/worker/worker.ts';
import { DEFAULT_SPARES } from '../../../service/runs/worker/worker-pool.ts';
import { sleep } from '../../../support/runtime/backoff.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';
import { DEFAULT_MIN_COVERAGE } from '../../../support/text/evaluation-figures.ts';
import { countText, grouped } from '../../../support/text/figures.ts';
import { shellQuoted } from '../../../support/text/shell-quote.ts';
import { SilentFailure } from '../../base/failure.ts';
import { evaluationsAt, placeWords } from '../../base/find-evaluation.ts';
import { howToOpen } from '../../base/how-to-open.ts';
import { parseShare } from '../../base/options.ts';
import { openPlace, type Place, type PlaceOptions } from '../../base/place.ts';
import { addPoolOptions, type PoolCommandOptions } from '../../base/pool-options.ts';
import { listenForStop } from '../../base/signals.ts';
import { colors, note, printable, printJson } from '../../base/terminal.ts';
import { followToEnd } from './follow.ts';
import { createProgressView, type ProgressView } from './live-view.ts';
import { hasValidAttempt } from './report-text.ts';
import { tellReport } from './show.ts';

/** Options of the commands that follow an evaluation to its end. */
export interface FollowOptions extends Pick<PlaceOptions, 'service'>, PoolCommandOptions {
  readonly wait?: boolean;
  readonly detach?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
  readonly minCoverage: number;
}

export function addFollowOptions(command: Command): Command {
  return addPoolOptions(command)
    .option('--no-wait', 'set it going and end at once: a service or workers of the same database do the work')
    .option('--detach', 'let it go on elsewhere after Ctrl-C, which pauses it otherwise')
    .option(
      '--min-coverage <share>',
      'share of the attempts of each model that need a reward, 0 to 1; with fewer it ends with 4',
      parseShare,
      DEFAULT_MIN_COVERAGE,
    )
    .option('-q, --quiet', 'no progress, only the report')
    .option('--json', 'print the evaluation with its reports as one JSON object');
}

/** @param begin finds or creates the evaluation. It reports any fault before a run starts. */
export async function followEvaluation(
  options: FollowOptions,
  begin: (place: Place, view: ProgressView, stop: AbortSignal) => Promise<Pick<EvaluationDetail, 'evaluation_id'>>,
): Promise<void> {
  const { service, hosts, startTimeoutMs, wait, detach = false } = options;
  const words = STOPPING[service === undefined ? 'here' : 'service'];
  using stop = listenForStop(() => note(colors.yellow(detach ? words.detached : words.paused)));
  const log = { line: note };
  await using place = await openPlace({
    service,
    hosts,
    startTimeoutMs,
    spares: wait === false ? 0 : DEFAULT_SPARES,
    write: (line) => log.line(line.trimEnd()),
  });
  let evaluation: EvaluationDetail;
  {
    using view = createProgressView({ output: process.stderr, isQuiet: options.quiet === true || wait === false });
    log.line = (line) => view.note(line);
    const { evaluation_id } = await begin(place, view, stop.signal);
    evaluation = await see(evaluation_id, place, options, { view, stop: stop.signal });
    log.line = note;
  }
  if (stop.signal.aborted && wait !== false) await tellHolders(evaluation, place, detach);
  if (options.json) printJson(evaluation);
  else if (wait === false) note(`${evaluation.evaluation_id} is ${evaluation.status}: ${evaluation.evaluation_url}`);
  else await tellEnd(evaluation, place, options.minCoverage);
  if (wait === false) return;
  if (evaluation.status !== 'completed' || !hasValidAttempt(evaluation)) throw new SilentFailure();
  checkCoverage(evaluation, options.minCoverage);
}

/** Too few rewards give exit code 4, as in `eval gate`. */
function checkCoverage(evaluation: EvaluationDetail, minCoverage: number): void {
  const { code, checks } = judgeGate({ evaluation, minCoverage });
  if (code === 0) return;
  for (const check of checks) if (check.code !== 0) note(colors.yellow(printable(check.sentence, 400)));
  throw new SilentFailure(code);
}

/** Share of the SIGTERM budget for the worker. The rest is for the report and the database. */
const STOPPING_SHARE = 0.8;

const STOPPING = {
  here: {
    paused: 'Stopping: it is paused, its runs are given back, and what has ended is kept. Once more ends it at once.',
    detached: 'Stopping here: its runs are given back, and other processes go on with it. Once more ends it at once.',
  },
  service: {
    paused: 'Stopping: the evaluation is paused at the service.',
    detached: 'Stopping here: the evaluation goes on at the service.',
  },
} as const;

async function see(
  evaluationId: string,
  place: Place,
  options: FollowOptions,
  { view, stop }: { readonly view: ProgressView; readonly stop: AbortSignal },
): Promise<EvaluationDetail> {
  if (options.wait === false) return await place.client.evaluations.get(evaluationId);
  let paused: Promise<EvaluationDetail> | undefined;
  const pause = () => {
    paused = pauseUnlessEnded(evaluationId, place);
    paused.catch(() => {}); // The rejection is handled where `paused` is awaited.
  };
  // Pauses at once: the rest takes seconds, and a second Ctrl-C would end it.
  if (!options.detach && stop.aborted) pause();
  else if (!options.detach) stop.addEventListener('abort', pause, { once: true });
  const evaluation = await follow(evaluationId, place, options, { view, stop });
  return (await paused) ?? evaluation;
}

async function follow(
  evaluationId: string,
  place: Place,
  options: FollowOptions,
  { view, stop }: { readonly view: ProgressView; readonly stop: AbortSignal },
): Promise<EvaluationDetail> {
  const { evaluations } = place.client;
  if (stop.aborted) return await evaluations.get(evaluationId);
  const worker = await startWorkHere(place, options);
  try {
    return await followToEnd(evaluations, evaluationId, view, stop);
  } finally {
    // The command ends now: sessions that go on run their shutdown hooks, as at SIGTERM.
    place.here?.shutDown();
    // Stops the worker before the report, so that the report names only processes that continue.
    await worker?.stop(SHUTDOWN_GRACE_MS.service * STOPPING_SHARE);
  }
}

/** Starts a worker for the evaluations of this directory. Undefined with `--service`. */
async function startWorkHere(
  { here }: Place,
  { hosts, startTimeoutMs }: PoolCommandOptions,
): Promise<Worker | undefined> {
  // Runs of other environments are left to other workers.
  const onlyEnvironments = [...(here?.installation.environments.keys() ?? [])];
  return await here?.startWorker({ hosts, startTimeoutMs, onlyEnvironments });
}

async function pauseUnlessEnded(evaluationId: string, { client }: Place): Promise<EvaluationDetail> {
  try {
    return await client.evaluations.pause(evaluationId);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'evaluation_finished') throw error;
    return await client.evaluations.get(evaluationId);
  }
}

/** Milliseconds that a detached command waits for a worker to take its runs. Workers poll every second. */
const TAKEN_WITHIN_MS = 2_000;
/** Prints which other processes still work on an evaluation, and how to stop each. */
async function tellHolders(evaluation: EvaluationDetail, place: Place, isDetached: boolean): Promise<void> {
  if (place.here === undefined || isEnded(evaluation.status)) return;
  const { database } = place.here.installation;
  const { evaluation_id: id } = evaluation;
  const read = () => readAttemptHolders(database, id);
  let holders = await read();
  for (const endsAt = performance.now() + TAKEN_WITHIN_MS; isDetached && holders.length === 0; holders = await read()) {
    if (performance.now() > endsAt) break;
    await sleep(PERIODS_MS.takenRuns);
  }
  for (const { pid, attempts } of holders) {
    const count = countText(attempts, 'attempt');
    note(
      isDetached
        ? `Process ${pid} goes on with it, ${count} now: "npx proctor eval pause ${id}" stops it.`
        : `Process ${pid} still plays ${count} of it to the end: "npx proctor eval cancel ${id}" ends them at once.`,
    );
  }
  if (isDetached && holders.length === 0) note('No other process works on it now.');
}

async function tellEnd(evaluation: EvaluationDetail, place: Place, minCoverage: number): Promise<void> {
  const { evaluation_id, evaluation_url, status } = evaluation;
  await tellReport(evaluation, evaluationsAt(place), minCoverage);
  note('');
  if (!isEnded(status)) {
    const { done, total } = evaluation.progress;
    const rest = `${grouped(done)} of ${grouped(total)} attempts are done`;
    const words = placeWords(place);
    const resume = `the same command goes on with it, and so does "npx proctor eval resume ${evaluation_id}${words}"`;
    const pause = `it goes on at the service: "npx proctor eval pause ${evaluation_id}${words}" stops it`;
    note(`It is ${status}, ${rest}; ${status === 'running' && place.service !== undefined ? pause : resume}.`);
  }
  note(colors.dim(evaluation_url));
  const settings = place.here?.installation.settings;
  if (settings !== undefined) note(colors.dim(await howToOpen([evaluation_id], settings.appUrl)));
  const [a, b, ...more] = evaluation.models;
  if (a !== undefined && b !== undefined && more.length === 0 && isEnded(status)) {
    const models = `--a-model ${shellQuoted(a)} --b-model ${shellQuoted(b)}`;
    note(colors.dim(`To compare the models: npx proctor eval compare ${evaluation_id} ${models}${placeWords(place)}`));
  }
}
