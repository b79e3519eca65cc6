import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { checkReportSchema } from '../../src/contract/service/check.ts';
import { readReport } from '../../src/evaluation/checks/reports/read-report.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { checked, reportOf, save } from '../evaluation/checks/reports.ts';
import { createProject, PATIENCE, proctor } from './command.ts';

const printedSchema = checkReportSchema.extend({ check_id: z.string(), check_url: z.string() });

it('a report is stored as it was printed, has an address, and goes with old traces', PATIENCE, async () => {
  const cwd = createProject();
  // It cannot be started: that is a report, too, and the fastest one.
  writeFileSync(join(cwd, 'broken.ts'), 'throw new Error("It does not start");\n');
  const { code, stdout } = await proctor(['check', './broken.ts', '--json'], { cwd });
  const { check_id, check_url, ...report } = printedSchema.parse(JSON.parse(stdout));
  expect([code, report.counts.error, new URL(check_url).pathname]).toEqual([1, 1, `/checks/${check_id}`]);
  const unwritten = await proctor(['check', './broken.ts', '--json', '--junit', 'nowhere/check.xml'], { cwd });
  expect(printedSchema.parse(JSON.parse(unwritten.stdout)).counts).toEqual(report.counts);
  expect([unwritten.code, unwritten.stderr]).toEqual([1, expect.stringContaining('nowhere/check.xml')]);
  const address = z.object({ address: z.string() });
  const opened = await proctor(['open', check_id, '--json'], { cwd });
  expect(new URL(address.parse(JSON.parse(opened.stdout)).address).pathname).toBe(`/checks/${check_id}`);
  const unknown = await proctor(['open', `check_${'0'.repeat(32)}`], { cwd });
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('There is no report of a check')]);

  const database = await openDatabase(`sqlite:${cwd}/.proctor/proctor.db`);
  try {
    const stored = await readReport(database, { account: 'local', checkId: check_id, appUrl: '' });
    expect(checkReportSchema.parse(stored)).toEqual(report);
    await save(database, reportOf(checked()), { at: 1 });
  } finally {
    await database.close();
  }
  const prune = async (...options: readonly string[]) => {
    const pruned = await proctor(['traces', 'prune', '--older-than', '1d', '--yes', '--json', ...options], { cwd });
    return JSON.parse(pruned.stdout);
  };
  expect(await prune('--env', 'counter')).toMatchObject({ deleted_reports: 0 });
  expect(await prune()).toMatchObject({ deleted: 0, deleted_reports: 1 });
  expect((await proctor(['open', check_id, '--json'], { cwd })).code).toBe(0);
});
