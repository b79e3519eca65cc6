import type { Command } from 'commander';
import type { RegradesClient } from '../../client/service-client.ts';
import { ApiError } from '../../contract/errors.ts';
import { TRACE_ID_PATTERN } from '../../contract/names.ts';
import type { Regrade, RegradeRow } from '../../contract/service/regrade.ts';
import { sleep } from '../../support/runtime/backoff.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { countText, meanText } from '../../support/text/figures.ts';
import { SilentFailure } from '../base/failure.ts';
import { evaluationsAt, findEvaluation, OR_A_TRACE } from '../base/find-evaluation.ts';
import { howToOpen } from '../base/how-to-open.ts';
import { parseServiceUrl } from '../base/options.ts';
import { openPlace } from '../base/place.ts';
import { addPoolOptions, type PoolCommandOptions } from '../base/pool-options.ts';
import { listenForStop } from '../base/signals.ts';
import { colors, note, print, printable, printJson } from '../base/terminal.ts';

const ROWS = 1_000;

export function addRegradeCommand(program: Command): void {
  const command = program
    .command('regrade <trace|evaluation>')
    .description('Grade finished runs again with the current evaluation code.')
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

async function regrade(named: string, options: RegradeOptions): Promise<void> {
  const { fresh = false } = options;
  await using place = await openPlace({ ...options, plays: 'queue', write: (line) => note(line.trimEnd()) });
  const { client, here } = place;
  using stop = listenForStop(() => note(colors.yellow('Stopping: the job is cancelled. Once more ends it at once.')));
  const { job_id: jobId, job_url } = await (TRACE_ID_PATTERN.test(named)
    ? client.regrades.trace(named, { fresh })
    : client.regrades.evaluation(await findEvaluation(named, evaluationsAt(place), OR_A_TRACE), { fresh }));
  note(colors.dim(job_url));
  const job = await followJob(client.regrades, jobId, stop.signal);
  const rows = await readRows(client.regrades, jobId);
  if (options.json) printJson({ ...job, rows, next_cursor: null });
  else {
    report(job, rows);
    if (here !== undefined) note(colors.dim(await howToOpen([jobId], here.installation.settings.appUrl)));
  }
  const { differs, failed } = job.progress;
  if (job.status !== 'completed' || differs + failed > 0) throw new SilentFailure();
}

async function followJob(regrades: RegradesClient, jobId: string, stop: AbortSignal): Promise<Regrade> {
  let told = -1;
  for (;;) {
    const job = await regrades.get(jobId, { limit: 1 });
    const { done, total } = job.progress;
    if (done !== told) note(`${done} of ${total} graded again`);
    told = done;
    if (job.status !== 'running') return job;
    // One that has ended in the meantime is looked at once more.
    if (stop.aborted) await regrades.cancel(jobId).catch(throwUnlessOver);
    await sleep(PERIODS_MS.regrades, stop).catch(() => {}); // The loop sees it.
  }
}

function throwUnlessOver(error: unknown): void {
  if (!(error instanceof ApiError) || error.code !== 'run_finished') throw error;
}

async function readRows(regrades: RegradesClient, jobId: string): Promise<readonly RegradeRow[]> {
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
  for (const { model, graded, mean_before: before, mean_after: after } of models) {
    print(`${printable(model)}: mean ${meanText(before)} → ${meanText(after)} over ${countText(graded, 'new grade')}`);
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
