import { appendFileSync } from 'node:fs';

/** What one round of a fault came to. */
export interface FaultReport {
  readonly fault: string;
  /** Accepted. */
  readonly runs: number;
  /** Accepted, and without a final state at the end. */
  readonly lost: number;
  /** Attempts beside the first of each run: what the fault has cost. */
  readonly startedAgain: number;
  readonly seconds: number;
  readonly hasPassed: boolean;
}

/** For the table at the end of `npm run test:faults`. */
export function reportFault(report: FaultReport): void {
  const file = process.env.FAULT_REPORT;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(report)}\n`);
}
