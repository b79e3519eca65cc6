import type { Queue, Worker } from 'bullmq';
import { ApiError, messageOf } from '../../contract/errors.ts';
import { withDeadline } from '../../support/runtime/deadline.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { withoutPassword } from '../database/postgres/postgres-address.ts';
import { toStoreError } from '../database/postgres/postgres-errors.ts';
import { ConnectionLostError } from '../database/store-errors.ts';
import type { RunJob } from './bullmq-job.ts';
import { LEASE } from './run-queue.ts';

/** The two halves of a BullMQ queue: one adds jobs, the other takes them. */
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
  /**
   * Milliseconds between two searches for expired leases. A lease counts as expired at the second search. Default
   * 5,000.
   */
  readonly checkEveryMs?: number | undefined;
  /** Default length of a lease, in milliseconds. Default 10,000. */
  readonly leaseMs?: number | undefined;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** A job that lost its holder is never dropped here: the worker decides how often a run starts again. */
const NEVER = 1_000_000_000;

/**
 * Connects to BullMQ's queue on a Redis server.
 *
 * @throws Error with the address, without its password, and the way out.
 */
export async function openBullBackend(options: BullBackendOptions): Promise<BullBackend> {
  const { url, name = 'proctor-runs', checkEveryMs = PERIODS_MS.queueConnection, leaseMs = LEASE.durationMs } = options;
  const bullmq = await import('bullmq');
  const connection = { url, connectTimeout: CONNECT_TIMEOUT_MS, maxRetriesPerRequest: null, enableReadyCheck: true };
  const parts: Part[] = [];
  const close = async () => void (await Promise.all(parts.map(closePart)));
  try {
    const queue = new bullmq.Queue<RunJob>(name, { connection });
    parts.push(queue);
    // Each operation reports its own failure. Without this listener an error event would end the process.
    queue.on('error', () => {});
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

/** Milliseconds for an orderly close. Without a server it would wait forever. */
const CLOSE_LIMIT_MS = 2_000;

async function closePart(part: Part): Promise<void> {
  try {
    await within(part.close(), CLOSE_LIMIT_MS);
  } catch {
    part.disconnect().catch(() => {}); // A failed disconnect leaves nothing to close.
  }
}

/** Milliseconds for an operation. BullMQ itself waits forever for a lost connection. */
const OPERATION_LIMIT_MS = 10_000;

/**
 * @throws ApiError store_unavailable when it fails or takes too long. An operation that took too long may still succeed
 * later.
 */
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
