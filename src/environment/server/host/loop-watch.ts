import { Worker } from 'node:worker_threads';
import { builtFile } from '../../../support/runtime/built-file.ts';
import { BEATS, LAG_SAMPLES, SESSIONS, shareMemory } from './loop-watch-memory.ts';

/** Milliseconds between two signs that the event loop runs. */
const BEAT_MS = 50;

export interface LoopWatch {
  /** Sets the number of sessions for the reports. */
  setSessions(count: number): void;
}

/**
 * Starts the thread that reports lag and memory once a second to the file descriptor `fd`, and kills this process if
 * its event loop stops running. The thread lasts as long as the process and does not keep it alive.
 */
export function watchLoop(fd: number): LoopWatch {
  const { buffer, counts, lags } = shareMemory();
  let sample = 0;
  let dueAt = performance.now() + BEAT_MS;
  setInterval(() => {
    const now = performance.now();
    // A very late beat also counts for the missed beats, each of which would have been late too.
    for (let lag = Math.max(0, now - dueAt), left = LAG_SAMPLES; left > 0; lag -= BEAT_MS, left -= 1) {
      lags[sample] = lag;
      sample = (sample + 1) % LAG_SAMPLES;
      if (lag < BEAT_MS) break;
    }
    dueAt = now + BEAT_MS;
    Atomics.add(counts, BEATS, 1);
  }, BEAT_MS).unref();
  const thread = new Worker(builtFile('environment/server/host/loop-watch-thread.js'), {
    workerData: { buffer, fd },
    // The thread needs no loader or debugger of this process.
    execArgv: [],
    env: {},
    name: 'proctor-loop-watch',
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  });
  thread.unref();
  return { setSessions: (count) => void Atomics.store(counts, SESSIONS, count) };
}
