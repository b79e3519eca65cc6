import type { Command } from 'commander';
import { environmentOfTrace } from '../config/find-environments.ts';
import { loadProject } from '../config/project.ts';
import { ApiError } from '../contract/errors.ts';
import { TRACE_ID_PATTERN } from '../contract/names.ts';
import type { Regrade, RegradeRow } from '../contract/regrade.ts';
import { sleep } from '../runtime/backoff.ts';
import { createServiceClient, type RegradesClient } from '../service-client/service-client.ts';
import { cancelRegrade } from '../trust/regrade/cancel-regrade.ts';
import { createRegrade, type RegradeOf } from '../trust/regrade/create-regrade.ts';
import { readRegrade } from '../trust/regrade/read-regrade.ts';
import { findEvaluation, OR_A_TRACE } from './eval/find-evaluation.ts';
import { type Evaluations, evaluationsOf } from './eval/open-evaluations.ts';
import { workOn } from './eval/work-here.ts';
import { SilentFailure } from './failure.ts';
import { howToOpen } from './how-to-open.ts';
import { type Installation, openInstallation } from './installation.ts';
import { parseServiceUrl } from './options.ts';
import { addPoolOptions, type PoolCommandOptions } from './pool-options.ts';
import { findKey } from './service-key.ts';
import { listenForStop } from './signals.ts';
import { colors, note, print, printable, printJson } from './terminal.ts';

const LOOK_EVERY_MS = 300;
const ROWS = 1_000;

export function addRegradeCommand(program: Command): void {
  const command = program
    .command('regrade <trace|evaluation>')
    .description('Replay a trace, or the attempts of an evaluation, and grade them by the evaluation of today.')
    .option('--fresh', 'ask judges again, where their votes on the same material are recorded')
    .option('--service <url>', 'those of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl);
  addPoolOptions(command)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
A trace is named by its id. An evaluation is named by its id, the beginning of one, its name, or last. Rewards of the runs
stay; new grades are beside them, and reports are by them with --grades current. A replay that differs before its evaluation
gives no grade. Where a judge has voted on the same rubric and material before, its votes are taken, unless --fresh asks it
again.

Exit code: 0 when every trace has a grade, whatever it is; 1 when a replay differs or failed, or the command was stopped, which
cancels the job; 2 when the command is wrong.

Examples:
  $ proctor regrade 0af7651916cd43dd8448eb211c80319c
  $ proctor regrade last --fresh
  $ PROCTOR_API_KEY=... proctor regrade nightly --service https://proctor.example --json`,
    )
    .action(regrade);
}

interface RegradeOptions extends PoolCommandOptions {
  readonly service?: string;
  readonly fresh?: boolean;
  readonly json?: boolean;
}

interface Place extends AsyncDisposable {
  /** Where the pages of this directory are; undefined for a service. */
  readonly appUrl?: string;
  readonly evaluations: Evaluations;
  readonly regrades: Pick<RegradesClient, 'trace' | 'evaluation' | 'get' | 'cancel'>;
  /** Executes the replays, where nobody else may. */
  work(): AsyncDisposable;
}

async function regrade(named: string, options: RegradeOptions): Promise<void> {
  const { fresh = false } = options;
  await using place = await openPlace(options);
  using stop = listenForStop(() => note(colors.yellow('Stopping: the job is cancelled. Once more ends it at once.')));
  const { job_id: jobId, job_url } = await (TRACE_ID_PATTERN.test(named)
    ? place.regrades.trace(named, { fresh })
    : place.regrades.evaluation(await findEvaluation(named, place.evaluations, OR_A_TRACE), { fresh }));
  note(colors.dim(job_url));
  const job = await followJob(place, jobId, stop.signal);
  const rows = await readRows(place, jobId);
  if (options.json) printJson({ ...job, rows, next_cursor: null });
  else {
    report(job, rows);
    if (place.appUrl !== undefined) note(colors.dim(await howToOpen([jobId], place.appUrl)));
  }
  const { differs, failed } = job.progress;
  if (job.status !== 'completed' || differs + failed > 0) throw new SilentFailure();
}

async function openPlace({ service, ...options }: RegradeOptions): Promise<Place> {
  const nothing = { [Symbol.asyncDispose]: async () => {} };
  if (service !== undefined) {
    const client = createServiceClient({ baseUrl: service, apiKey: findKey(await loadProject(), service) });
    const evaluations = { client: client.evaluations, service, ...nothing };
    return { evaluations, regrades: client.regrades, work: () => nothing, ...nothing };
  }
  const installation = await openInstallation();
  return {
    appUrl: installation.settings.appUrl,
    evaluations: { ...evaluationsOf(installation), ...nothing },
    regrades: regradesOf(installation),
    work: () => workOn(installation, options, { note }),
    [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose](),
  };
}

/** The jobs of a database, as a client of a service would have them. */
function regradesOf({ database, store, queue, settings, environments }: Installation): Place['regrades'] {
  const account = 'local';
  // It is executed here, by the name that it has in the traces.
  const checkEnvironment = (name: string) => {
    environmentOfTrace(name, environments);
  };
  const begin = async (of: RegradeOf) => {
    const job_id = await createRegrade(
      { database, store, now: Date.now, checkEnvironment },
      { account, keyId: null },
      of,
    );
    return { job_id, job_url: `${settings.appUrl}/regrades/${job_id}` };
  };
  const get: Place['regrades']['get'] = (jobId, query) =>
    readRegrade(database, { account, jobId, appUrl: settings.appUrl }, query);
  return {
    get,
    trace: (traceId, { fresh } = {}) => begin({ traceId, fresh }),
    evaluation: (evaluationId, { fresh } = {}) => begin({ evaluationId, fresh }),
    cancel: async (jobId) => {
      await cancelRegrade({ database, store, queue, now: Date.now }, { account, jobId });
      return await get(jobId);
    },
  };
}

async function followJob({ regrades, work }: Place, jobId: string, stop: AbortSignal): Promise<Regrade> {
  await using _working = work();
  let told = -1;
  for (;;) {
    const job = await regrades.get(jobId, { limit: 1 });
    const { done, total } = job.progress;
    if (done !== told) note(`${done} of ${total} graded again`);
    told = done;
    if (job.status !== 'running') return job;
    // One that has ended in the meantime is looked at once more.
    if (stop.aborted) await regrades.cancel(jobId).catch(throwUnlessOver);
    await sleep(LOOK_EVERY_MS, stop).catch(() => {}); // The loop sees it.
  }
}

function throwUnlessOver(error: unknown): void {
  if (!(error instanceof ApiError) || error.code !== 'run_finished') throw error;
}

async function readRows({ regrades }: Place, jobId: string): Promise<readonly RegradeRow[]> {
  const rows: RegradeRow[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await regrades.get(jobId, { limit: ROWS, ...(cursor === undefined ? {} : { cursor }) });
    rows.push(...page.rows);
    cursor = page.next_cursor;
  }
  return rows;
}

function report({ progress, models, status }: Regrade, rows: readonly RegradeRow[]): void {
  for (const row of rows) if (row.outcome !== null && row.outcome !== 'same') print(describeRow(row));
  const { same, changed, differs, failed } = progress;
  print(`${same} as before, ${changed} changed, ${differs} differ, ${failed} failed`);
  if (status === 'cancelled') print(colors.yellow(`cancelled: ${progress.done} of ${progress.total} are graded again`));
  if (rows.length < 2) return;
  for (const { model, mean_before: before, mean_after: after } of models) {
    print(`${printable(model)}: mean ${meanText(before)} → ${meanText(after)}`);
  }
}

function describeRow({ outcome, trace_id, task_id, model, before, after, difference, error }: RegradeRow): string {
  const name = task_id === null ? trace_id : `${task_id} ${model} ${trace_id}`;
  switch (outcome) {
    case 'changed':
      return `${colors.yellow('changed')} ${printable(name)}: ${before} → ${after}`;
    case 'differs':
      return `${colors.red('differs')} ${printable(name)}: at ${difference?.step ? `step ${difference.step}` : `the ${difference?.at}`}`;
    default:
      return `${colors.red('failed')}  ${printable(name)}: ${printable(error?.message ?? '', 300)}`;
  }
}

function meanText(mean: number | null): string {
  return mean === null ? 'none' : String(Math.round(mean * 10_000) / 10_000);
}
