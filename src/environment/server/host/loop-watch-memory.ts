/** Number of samples of the lag in the last ten seconds. */
export const LAG_SAMPLES = 200;
/** Positions of the counts. */
export const BEATS = 0;
export const SESSIONS = 1;
const COUNTS = 2;

/**
 * Memory that the main thread shares with the thread that watches its event loop. It can be read even if the main
 * thread is blocked.
 */
export interface LoopMemory {
  readonly buffer: SharedArrayBuffer;
  readonly counts: Int32Array;
  /** Lag of each sample in milliseconds. */
  readonly lags: Float32Array;
}

export function shareMemory(): LoopMemory {
  return viewsOf(new SharedArrayBuffer((COUNTS + LAG_SAMPLES) * Int32Array.BYTES_PER_ELEMENT));
}

export function viewsOf(buffer: SharedArrayBuffer): LoopMemory {
  const counts = new Int32Array(buffer, 0, COUNTS);
  return { buffer, counts, lags: new Float32Array(buffer, COUNTS * Int32Array.BYTES_PER_ELEMENT, LAG_SAMPLES) };
}
