import { isTrainingEnd } from '../contract/training-states.ts';
import { TextStream } from '../http/text-stream.ts';
import { sleep } from '../runtime/backoff.ts';
import type { TrainingJobStore } from '../training/jobs/job-store.ts';

export interface JobFeedOptions {
  readonly jobs: Pick<TrainingJobStore, 'events' | 'get'>;
  readonly account: string;
  readonly jobId: string;
  /** The number of the last event that the reader has. */
  readonly after: number;
  /** Asked while it goes on: false ends it. */
  isPermitted(): Promise<boolean>;
  /** The reader is gone, or the service shuts down: it ends where it is, and its reader can resume. */
  readonly signal: AbortSignal;
  readonly keepAliveMs: number;
  readonly onError: (error: unknown) => void;
}

/** Events that are read at once: what bounds the memory of a reader who is slow. */
const PAGE = 200;
/** Jobs are worked on by any process: the database is asked this often, in milliseconds. */
const LOOK_EVERY_MS = 500;
const CHECK_PERMISSION_EVERY_MS = 2_000;

/** The events of a job as server-sent events, those that are there and those that come, until it has ended. */
export function startJobFeed(options: JobFeedOptions): TextStream {
  const text = new TextStream();
  feed(options, text)
    .catch((error: unknown) => {
      if (!options.signal.aborted) options.onError(error);
    })
    .finally(() => text.end());
  return text;
}

async function feed(options: JobFeedOptions, text: TextStream): Promise<void> {
  const { jobs, account, jobId, signal, keepAliveMs } = options;
  let { after } = options;
  let [permittedAt, writtenAt] = [performance.now(), performance.now()];
  while (!signal.aborted) {
    const { status } = await jobs.get(account, jobId);
    const events = await jobs.events(account, jobId, { after, limit: PAGE });
    for (const { seq, type, ...body } of events) {
      text.push(`id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ seq, type, ...body })}\n\n`);
      after = seq;
    }
    if (events.length > 0) writtenAt = performance.now();
    while (text.isBlocked && !signal.aborted) await Promise.race([text.flowing(), sleep(LOOK_EVERY_MS)]);
    if (events.length === PAGE) continue;
    // Read before its events: all of them have been sent.
    if (isTrainingEnd(status)) return;
    if (performance.now() - writtenAt > keepAliveMs) {
      text.push(': keep-alive\n\n');
      writtenAt = performance.now();
    }
    if (performance.now() - permittedAt > CHECK_PERMISSION_EVERY_MS) {
      if (!(await options.isPermitted())) return;
      permittedAt = performance.now();
    }
    await sleep(LOOK_EVERY_MS, signal).catch(() => {}); // The loop sees it.
  }
}
