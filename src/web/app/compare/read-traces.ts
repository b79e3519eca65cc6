import type { TraceSummary } from '../../../contract/service/trace.ts';
import { readTraceData } from '../api.ts';
import { Timeline } from '../trace/timeline.ts';
import { type ComparedEntry, toCompared } from './compared-rows.ts';

/** A run as far as it was read. */
export interface ComparedRun {
  readonly trace: TraceSummary;
  /** Entries of the last attempt, which decides the result of the run. */
  readonly entries: readonly ComparedEntry[];
}

export interface ReadRuns {
  readonly runs: readonly ComparedRun[];
  /** False if only the first part of each trace was read. */
  readonly isWhole: boolean;
  /** Time of the request. */
  readonly readAt: string;
}

/** The reason why one of the traces could not be read. */
export class UnreadTraceError extends Error {
  readonly traceId: string;

  constructor(traceId: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.traceId = traceId;
  }
}

/**
 * Reads traces as they are now. For long ones it reports twice: the first part early, then everything.
 *
 * @throws UnreadTraceError for the first trace that cannot be read; the reason of the signal.
 */
export async function readRuns(
  traceIds: readonly string[],
  signal: AbortSignal,
  tell: (read: ReadRuns) => void,
): Promise<void> {
  const readAt = new Date().toISOString();
  const readers = traceIds.map((traceId) => new RunReader(traceId, signal));
  await Promise.all(readers.map((reader) => reader.readSome()));
  if (readers.some(({ isAtEnd }) => !isAtEnd)) {
    tell({ runs: readers.map((reader) => reader.toRun()), isWhole: false, readAt });
    await Promise.all(readers.map((reader) => reader.readRest()));
  }
  tell({ runs: readers.map((reader) => reader.toRun()), isWhole: true, readAt });
}

class RunReader {
  readonly #traceId: string;
  readonly #signal: AbortSignal;
  readonly #timeline = new Timeline();
  #trace: TraceSummary | undefined;
  #next: number | null = 0;

  constructor(traceId: string, signal: AbortSignal) {
    this.#traceId = traceId;
    this.#signal = signal;
  }

  get isAtEnd(): boolean {
    return this.#next === null;
  }

  async readRest(): Promise<void> {
    while (this.#next !== null) await this.readSome();
  }

  async readSome(): Promise<void> {
    if (this.#next === null) return;
    try {
      const { trace, events, next } = await readTraceData(this.#traceId, this.#next, this.#signal);
      this.#trace ??= trace;
      for (const event of events) this.#timeline.add(event);
      this.#next = next;
    } catch (error) {
      this.#signal.throwIfAborted();
      throw new UnreadTraceError(this.#traceId, error);
    }
  }

  toRun(): ComparedRun {
    if (this.#trace === undefined) throw new Error(`Nothing of ${this.#traceId} was read`);
    return { trace: this.#trace, entries: toCompared(this.#timeline.attempts().at(-1)?.entries ?? []) };
  }
}
