// Plays the faults that the run service has to survive, in full, and ends with a table: `npm run test:faults [-- <word>...]`,
// the words being of the cases' names, all of them without any. FAULT_ROUNDS says how many rounds of kill -9 and SIGSTOP (default 20),
// FAULT_SEED with which seed the first one begins, which is how a round that failed is played again, and FAULT_STORE
// (sqlite, postgres or redis) on what; without it they take turns.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const words = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'proctor-fault-report-'));
try {
  process.exitCode = play(join(folder, 'report.jsonl'));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function play(reportFile) {
  const only = words.length === 0 ? [] : ['--testNamePattern', words.join('|')];
  const { status } = spawnSync(
    process.execPath,
    [
      vitest,
      'run',
      '--typecheck.enabled=false',
      '--maxWorkers=1',
      '--reporter=verbose',
      '--hideSkippedTests',
      ...only,
      'test/faults',
    ],
    { cwd: root, stdio: 'inherit', env: { ...process.env, FAULT_FORM: 'full', FAULT_REPORT: reportFile } },
  );
  const lines = existsSync(reportFile) ? readFileSync(reportFile, 'utf8').trimEnd().split('\n') : [];
  if (lines.length === 0) {
    console.error(`No case was played${words.length === 0 ? '' : `: no name has ${words.join(' or ')} in it`}.`);
    return 1;
  }
  console.log(toTable(lines.map((line) => JSON.parse(line))));
  return status ?? 1;
}

/** One row for each fault, with its rounds added up. */
function toTable(reports) {
  const faults = new Map();
  for (const { fault, runs, lost, startedAgain, seconds, hasPassed } of reports) {
    const sum = faults.get(fault) ?? { rounds: 0, failed: 0, runs: 0, lost: 0, startedAgain: 0, seconds: 0 };
    sum.rounds += 1;
    sum.failed += hasPassed ? 0 : 1;
    sum.runs += runs;
    sum.lost += lost;
    sum.startedAgain += startedAgain;
    sum.seconds += seconds;
    faults.set(fault, sum);
  }
  const head = ['fault', 'rounds', 'failed', 'runs', 'lost', 'started again', 'seconds'];
  const body = [...faults].map(([fault, { rounds, failed, runs, lost, startedAgain, seconds }]) =>
    [fault, rounds, failed, runs, lost, startedAgain, seconds.toFixed(0)].map(String),
  );
  const widths = head.map((_, column) => Math.max(...[head, ...body].map((row) => row[column].length)));
  const toLine = (row) =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return ['', toLine(head), rule, ...body.map(toLine)].join('\n');
}
