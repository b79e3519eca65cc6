import type { CompiledQuery } from 'kysely';
import type { CheckedEnvironment, CheckReport } from '../../../contract/service/check.ts';
import { findingLevelSchema } from '../../../contract/service/check.ts';
import type { Database, RowsWrite } from '../../../store/database/database.ts';
import type { CheckEnvironmentsTable, CheckFindingsTable } from '../../../store/database/tables/create-checks.ts';
import type { Redactor } from '../../../support/redaction/redactor.ts';
import { newId } from '../../../support/runtime/new-id.ts';
import { cutToBytes } from '../../../support/text/cut-to-bytes.ts';
import { countFindings } from '../finding.ts';

/**
 * Longest text of a stored report in bytes. Environments write some of them, and a page of findings must stay small.
 */
const MAX_TEXT_BYTES = 16 * 1_024;
/** Longest command in bytes. Linux accepts no longer argument. */
const MAX_COMMAND_BYTES = 128 * 1_024;
/** Longest name of an environment, scenario or task, in bytes. */
const MAX_NAME_BYTES = 1_024;

export interface SaveReportOptions {
  readonly database: Database;
  readonly redactor: Redactor;
  /** Account that may read the report. */
  readonly account: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Stores the report of a check completely or not at all, without known secrets. Messages of more than 16 KiB are cut.
 *
 * @returns its id.
 */
export async function saveReport(
  { database, redactor, account, now }: SaveReportOptions,
  report: CheckReport,
): Promise<string> {
  const checkId = `check_${newId()}`;
  const environments = report.environments.map((each) => toStored(each, redactor));
  const counts = JSON.stringify(report.counts);
  await database.transaction(async (transaction) => {
    await transaction.insertInto('checks').values({ check_id: checkId, account, created_at: now(), counts }).execute();
    const { kysely } = database;
    const environmentRows = environments.map(toEnvironmentRow(checkId));
    const findingRows = toFindingRows(checkId, environments);
    const writes = [
      ...toWrites(environmentRows, (row) => kysely.insertInto('check_environments').values(row).compile()),
      ...toWrites(findingRows, (row) => kysely.insertInto('check_findings').values(row).compile()),
    ];
    await database.runEach(writes, { transaction });
  });
  return checkId;
}

function toStored(environment: CheckedEnvironment, redactor: Redactor): CheckedEnvironment {
  const text = (given: string, maxBytes = MAX_TEXT_BYTES) => cut(redactor.text(given), maxBytes);
  const name = (given: string) => text(given, MAX_NAME_BYTES);
  return {
    name: name(environment.name),
    may_share_process: environment.may_share_process,
    tried: environment.tried,
    scenarios: environment.scenarios.map((scenario) => ({ ...scenario, name: name(scenario.name) })),
    findings: environment.findings.map((finding) => ({
      ...finding,
      scenario: finding.scenario === null ? null : name(finding.scenario),
      task: finding.task === null ? null : name(finding.task),
      message: text(finding.message),
      reproduce: text(finding.reproduce, MAX_COMMAND_BYTES),
    })),
  };
}

/** Cuts a text. Postgres cannot store the zero character and stores lone surrogates differently from SQLite. */
function cut(text: string, maxBytes: number): string {
  const wellFormed = Buffer.from(text).toString();
  const { kept, isCut } = cutToBytes(wellFormed.replaceAll('\0', '\u2400'), maxBytes);
  return isCut ? `${kept}…` : kept;
}

function toEnvironmentRow(checkId: string) {
  return (environment: CheckedEnvironment, index: number): CheckEnvironmentsTable => ({
    check_id: checkId,
    environment_index: index,
    name: environment.name,
    may_share_process: environment.may_share_process === null ? null : Number(environment.may_share_process),
    scenarios: JSON.stringify(environment.scenarios),
    tried: JSON.stringify(environment.tried),
    counts: JSON.stringify(countFindings(environment.findings)),
  });
}

/** Sorts findings by level, so that the first page has the errors of all environments. */
function toFindingRows(checkId: string, environments: readonly CheckedEnvironment[]): readonly CheckFindingsTable[] {
  const indexed = environments.flatMap(({ findings }, index) => findings.map((found) => ({ index, found })));
  const sorted = findingLevelSchema.options.flatMap((level) => indexed.filter(({ found }) => found.level === level));
  return sorted.map(({ index, found: { finding, level, trace_id, ...body } }, place) => ({
    check_id: checkId,
    finding_index: place,
    environment_index: index,
    finding,
    level,
    body: JSON.stringify(body),
    trace_id,
  }));
}

function toWrites<Row extends object>(
  rows: readonly Row[],
  insert: (first: Row) => CompiledQuery,
): readonly RowsWrite[] {
  const [first] = rows;
  return first === undefined ? [] : [{ statement: insert(first), rows: rows.map((row) => Object.values(row)) }];
}
