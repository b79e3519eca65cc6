import type { Queue, Worker } from 'bullmq';
import { ApiError, messageOf } from '../contract/errors.ts';
import { withoutPassword } from '../database/postgres-address.ts';
import { toStoreError } from '../database/postgres-errors.ts';
import { ConnectionLostError } from '../database/store-errors.ts';
import { withDeadline } from '../runtime/deadline.ts';
import type { RunJob } from './bullmq-job.ts';
import { LEASE } from './run-queue.ts';

/** The two halves of a BullMQ queue: what adds jobs, and what takes them. */
export interface BullBackend {
  readonly queue: Queue<RunJob>;
  readonly worker: Worker<RunJob>;
  close(): Promise<void>;
}

export interface BullBackendOptions {
  /** `redis://…` or `rediss://…`. */
  readonly url: string;
  /** Default `proctor-runs`. */
  readonly name?: string | undefined;
  /** How often leases that ran out are looked for: it takes two looks. Default 5,000. */
  readonly checkEveryMs?: number | undefined;
  /** Length of a lease that sets none. Default 10,000. */
  readonly leaseMs?: number | undefined;
}

const CONNECT_TIMEOUT_MS = 10_000;
const CHECK_EVERY_MS = 5_000;
/** A job that lost its holder is never given up here: how often a run starts again is the worker's to say. */
const NEVER = 1_000_000_000;

/**
 * Connects to BullMQ's queue on a Redis.
 *
 * @throws Error that names the address, without its password, and says what to do.
 */
export async function openBullBackend(options: BullBackendOptions): Promise<BullBackend> {
  const { url, name = 'proctor-runs', checkEveryMs = CHECK_EVERY_MS, leaseMs = LEASE.durationMs } = options;
  const bullmq = await import('bullmq');
  const connection = { url, connectTimeout: CONNECT_TIMEOUT_MS, maxRetriesPerRequest: null, enableReadyCheck: true };
  const parts: Part[] = [];
  const close = async () => void (await Promise.all(parts.map(closePart)));
  try {
    const queue = new bullmq.Queue<RunJob>(name, { connection });
    parts.push(queue);
    queue.on('error', () => {}); // Each operation says by itself that it failed; without a listener it would end the process.
    await within(queue.waitUntilReady());
    const worker = new bullmq.Worker<RunJob>(name, null, {
      connection,
      autorun: false,
      lockDuration: leaseMs,
      stalledInterval: checkEveryMs,
      maxStalledCount: NEVER,
    });
    parts.push(worker);
    worker.on('error', () => {});
    await within(worker.waitUntilReady());
    return { queue, worker, close };
  } catch (error) {
    await close();
    throw toOpenError(error, url);
  }
}

interface Part {
  close(): Promise<void>;
  disconnect(): Promise<void>;
}

/** How long a part may take to close in order, in milliseconds: one whose server is gone would wait for it. */
const CLOSE_LIMIT_MS = 2_000;

async function closePart(part: Part): Promise<void> {
  try {
    await within(part.close(), CLOSE_LIMIT_MS);
  } catch {
    part.disconnect().catch(() => {}); // It is gone, or goes with this.
  }
}

/** How long an operation may take, in milliseconds; BullMQ waits for a lost connection for ever. */
const OPERATION_LIMIT_MS = 10_000;

/** @throws ApiError store_unavailable when it takes too long, though it may happen all the same then, or cannot be asked. */
export async function within<T>(operation: Promise<T>, limitMs = OPERATION_LIMIT_MS): Promise<T> {
  const toError = (limit: string) => noAnswer(`no answer within ${limit}`);
  try {
    return await withDeadline(() => operation, { ms: limitMs, toError });
  } catch (error) {
    throw toStoreError(error) instanceof ConnectionLostError ? noAnswer(messageOf(error), error) : error;
  }
}

function noAnswer(reason: string, cause?: unknown): ApiError {
  return new ApiError('store_unavailable', `The queue does not answer (${reason}). Try again in a few seconds.`, {
    headers: { 'retry-after': '5' },
    cause,
  });
}

function toOpenError(error: unknown, url: string): Error {
  const message = messageOf(error).replace(/^The queue does not answer \((.*)\)\..*$/, '$1');
  const shown = URL.canParse(url) ? withoutPassword(new URL(url)).href : 'of PROCTOR_QUEUE_URL';
  const wayOut = /ioredis/.test(message)
    ? 'A queue on Redis needs the package ioredis: npm install ioredis.'
    : `${message}. Start it, or correct PROCTOR_QUEUE_URL.`;
  return new Error(`Cannot open the queue ${shown}: ${wayOut}`, { cause: error });
}
