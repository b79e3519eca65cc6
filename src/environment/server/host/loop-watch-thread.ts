/** The thread of a host that checks whether the main thread's event loop runs, and kills the process if it does not. */
import { workerData } from 'node:worker_threads';
import { BEATS, LAG_SAMPLES, SESSIONS, viewsOf } from './loop-watch-memory.ts';
import { writeReport } from './write-report.ts';

const LOOK_EVERY_MS = 250;
const REPORT_EVERY_MS = 1_000;
/** Milliseconds that the event loop may be blocked: while the process gets processor time, and in any case. */
const MAX_STILL_MS = { busy: 10_000, any: 30_000 } as const;
/** Share of the time that counts as getting processor time. With that much, a healthy loop would have run. */
const BUSY_SHARE = 0.2;

const { buffer, fd } = workerData as { readonly buffer: SharedArrayBuffer; readonly fd: number };
const { counts, lags } = viewsOf(buffer);
let beats = -1;
let stillMs = 0;
let cpuAtBeatMs = 0;
let lookedAt = performance.now();
let reportedAt = 0;

setInterval(() => {
  const now = performance.now();
  // The whole process may have been stopped, so only a short time counts.
  stillMs += Math.min(now - lookedAt, 2 * LOOK_EVERY_MS);
  lookedAt = now;
  const current = Atomics.load(counts, BEATS);
  if (current !== beats) {
    beats = current;
    stillMs = 0;
    cpuAtBeatMs = usedCpuMs();
  }
  const cpuMs = usedCpuMs() - cpuAtBeatMs;
  if (stillMs >= MAX_STILL_MS.any || (stillMs >= MAX_STILL_MS.busy && cpuMs >= stillMs * BUSY_SHARE)) {
    writeReport(fd, { kind: 'stuck', ms: Math.round(stillMs), cpu_ms: Math.round(cpuMs) });
    process.kill(process.pid, 'SIGKILL');
  }
  if (now - reportedAt < REPORT_EVERY_MS) return;
  reportedAt = now;
  const sessions = Atomics.load(counts, SESSIONS);
  const lag = Math.max(lagP99Ms(), stillMs > 2 * LOOK_EVERY_MS ? stillMs : 0);
  const gauges = { sessions, lag_ms: Math.round(lag), resident_bytes: process.memoryUsage.rss() };
  writeReport(fd, { kind: 'gauges', ...gauges }, 1);
}, LOOK_EVERY_MS);

function lagP99Ms(): number {
  return Float32Array.from(lags).sort()[Math.floor(LAG_SAMPLES * 0.99)] ?? 0;
}

function usedCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
