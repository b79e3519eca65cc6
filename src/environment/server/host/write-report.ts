import { writeSync } from 'node:fs';
import type { HostReport } from '../../../contract/host.ts';

/** Number of attempts to write a report, and milliseconds between them, if its reader is slow. */
const WRITE = { tries: 100, everyMs: 5 } as const;

/** Writes a report synchronously. It is lost after the last attempt, or if its reader has ended. */
export function writeReport(fd: number, report: HostReport, tries: number = WRITE.tries): void {
  let rest = Buffer.from(`${JSON.stringify(report)}\n`);
  for (let left = tries; left > 0 && rest.length > 0; left -= 1) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WRITE.everyMs);
    }
  }
}
