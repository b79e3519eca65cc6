/** As many samples of lag as the last ten seconds have. */
export const LAG_SAMPLES = 200;
/** Places of the counts. */
export const BEATS = 0;
export const SESSIONS = 1;
const COUNTS = 2;

/** Memory of a loop and the thread that watches it. The thread reads it whatever the loop does. */
export interface LoopMemory {
  readonly buffer: SharedArrayBuffer;
  readonly counts: Int32Array;
  /** Milliseconds. */
  readonly lags: Float32Array;
}

export function shareMemory(): LoopMemory {
  return viewsOf(new SharedArrayBuffer((COUNTS + LAG_SAMPLES) * Int32Array.BYTES_PER_ELEMENT));
}

export function viewsOf(buffer: SharedArrayBuffer): LoopMemory {
  const counts = new Int32Array(buffer, 0, COUNTS);
  return { buffer, counts, lags: new Float32Array(buffer, COUNTS * Int32Array.BYTES_PER_ELEMENT, LAG_SAMPLES) };
}
