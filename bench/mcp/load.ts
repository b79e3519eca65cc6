import type { Connection } from './connection.ts';

/** What one level of load gave. */
export interface Level {
  readonly callsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the server, microseconds a call. */
  readonly cpuUs: number;
}

/** Keeps `inFlight` calls running for `durationMs`. */
export async function load(connection: Connection, inFlight: number, durationMs: number): Promise<Level> {
  const latencies: number[] = [];
  const cpuBefore = connection.cpuUs();
  const startedAt = performance.now();
  const caller = async () => {
    while (performance.now() - startedAt < durationMs) {
      const sentAt = performance.now();
      await connection.call();
      latencies.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  const seconds = (performance.now() - startedAt) / 1_000;
  const cpuUs = (connection.cpuUs() - cpuBefore) / latencies.length;
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return { callsPerSecond: latencies.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99), cpuUs };
}

/** Makes so many calls, which the compiler of the server needs to see: after too few a level measures how long it takes. */
export async function warmUp(connection: Connection, inFlight: number, calls: number): Promise<void> {
  let left = calls;
  const caller = async () => {
    while (left-- > 0) await connection.call();
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
}

/** Of each field of its own. */
export function medianLevel(levels: readonly Level[]): Level {
  return {
    callsPerSecond: median(levels.map(({ callsPerSecond }) => callsPerSecond)),
    p50Ms: median(levels.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(levels.map(({ p99Ms }) => p99Ms)),
    cpuUs: median(levels.map(({ cpuUs }) => cpuUs)),
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
