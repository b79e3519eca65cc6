import type { CheckedEnvironment, CheckFinding, CheckReport } from '../../../src/contract/service/check.ts';
import { countFindings } from '../../../src/evaluation/checks/finding.ts';
import { saveReport } from '../../../src/evaluation/checks/reports/save-report.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { createRedactor } from '../../../src/support/redaction/redactor.ts';

export function finding(more: Partial<CheckFinding> = {}): CheckFinding {
  return {
    finding: 'idle',
    level: 'error',
    scenario: 'count_to',
    task: '1',
    message: 'An agent that does nothing gets 1.',
    reproduce: 'proctor run counter count_to --args \'{"target":0}\' --model proctor/noop --seed 0',
    trace_id: null,
    untried: false,
    ...more,
  };
}

export function checked(more: Partial<CheckedEnvironment> = {}): CheckedEnvironment {
  return {
    name: 'counter',
    may_share_process: true,
    scenarios: [{ name: 'count_to', tasks: 5 }],
    tried: [
      { finding: 'idle', state: 'found' },
      { finding: 'echo', state: 'tried' },
    ],
    findings: [finding()],
    ...more,
  };
}

export function reportOf(...environments: readonly CheckedEnvironment[]): CheckReport {
  const counts = countFindings(environments.flatMap(({ findings }) => findings));
  return { object: 'check', environments: [...environments], counts };
}

/** Stores a report, as `proctor check` does. @returns its id. */
export async function save(
  database: Database,
  report: CheckReport,
  { account = 'local', at = Date.now() }: { readonly account?: string; readonly at?: number } = {},
): Promise<string> {
  return await saveReport({ database, redactor: createRedactor(), account, now: () => at }, report);
}
