import { Worker } from 'node:worker_threads';
import { builtFile } from '../../runtime/built-file.ts';
import { BEATS, LAG_SAMPLES, SESSIONS, shareMemory } from './loop-watch-memory.ts';

/** How often the loop shows that it turns. */
const BEAT_MS = 50;

export interface LoopWatch {
  /** How many sessions there are, for the reports. */
  setSessions(count: number): void;
}

/**
 * Starts the thread that reports lag and memory once a second to the descriptor `fd`, and kills this process when its
 * loop does not turn any more. It lasts as long as the process, and does not keep it alive.
 */
export function watchLoop(fd: number): LoopWatch {
  const { buffer, counts, lags } = shareMemory();
  let sample = 0;
  let dueAt = performance.now() + BEAT_MS;
  setInterval(() => {
    const now = performance.now();
    // A beat that is late by many stands for those that are missing: each of them would have been late too.
    for (let lag = Math.max(0, now - dueAt), left = LAG_SAMPLES; left > 0; lag -= BEAT_MS, left -= 1) {
      lags[sample] = lag;
      sample = (sample + 1) % LAG_SAMPLES;
      if (lag < BEAT_MS) break;
    }
    dueAt = now + BEAT_MS;
    Atomics.add(counts, BEATS, 1);
  }, BEAT_MS).unref();
  const thread = new Worker(builtFile('mcp/host/loop-watch-thread.js'), {
    workerData: { buffer, fd },
    // A loader or a debugger of this process is not for the thread.
    execArgv: [],
    env: {},
    name: 'proctor-loop-watch',
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  });
  thread.unref();
  return { setSessions: (count) => void Atomics.store(counts, SESSIONS, count) };
}
