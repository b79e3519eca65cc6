import { createPostgresBackend, Queue } from 'bullmq';

/** The queue of the workers written by hand. Whoever opened it closes it. */
export interface BareQueue {
  add(count: number, job: object): Promise<void>;
  /** Jobs that have not ended. */
  left(): Promise<number>;
  close(): Promise<void>;
}

const MAX_BATCH = 500;

/** @param url `redis://…` or `postgres://…` */
export async function openBareQueue(url: string): Promise<BareQueue> {
  const queue = url.startsWith('redis:')
    ? new Queue('bare', { connection: { url } })
    : new Queue('bare', { connection: { connectionString: url, migrate: true } }, createPostgresBackend);
  await queue.waitUntilReady();
  return {
    async add(count, data) {
      for (let added = 0; added < count; added += MAX_BATCH) {
        const jobs = Array.from({ length: Math.min(MAX_BATCH, count - added) }, () => ({ name: 'run', data }));
        await queue.addBulk(jobs.map((job) => ({ ...job, opts: { removeOnComplete: true } })));
      }
    },
    async left() {
      const { wait = 0, active = 0 } = await queue.getJobCounts('wait', 'active');
      return wait + active;
    },
    close: () => queue.close(),
  };
}
