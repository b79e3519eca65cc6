import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DatabaseSync } from '@photostructure/sqlite';
import type { EventOf } from '../src/contract/event.ts';
import { openDatabase } from '../src/database/sqlite.ts';
import { createTraceStore } from '../src/trace/database-store.ts';

const IN_FLIGHT = [1, 8, 32, 200];
const ROUNDS = 61;
const ROUND_MS = 40;
const TARGET = 0.8;

/** Appends one event to a trace and resolves once it is durable. */
type Append = (traceId: string, event: EventOf<'tool.responded'>) => Promise<unknown>;

interface Side {
  readonly append: Append;
  count(): Promise<number>;
  close(): Promise<void>;
}

/**
 * Durable appends per second through the store, beside the bare driver that commits the same rows in the same groups:
 * one prepared insert for each row, in one transaction at the end of the event-loop turn. The bare side has no fence,
 * no reading of where a trace stands, and numbers the events from memory. Both encode their events, write to the same
 * schema with the same settings, and every writer has a trace of its own. Rounds alternate; medians.
 */
export async function run(): Promise<void> {
  console.log(`Durable appends per second, ~1 KB events, WAL, synchronous FULL, medians of ${ROUNDS} alternating rounds`);
  console.log('in flight |  bare driver/s |        store/s | store/bare');
  const ratios: number[] = [];
  for (const inFlight of IN_FLIGHT) {
    const { bare, store } = await compare(inFlight);
    const ratio = store / bare;
    ratios.push(ratio);
    const [bareText, storeText] = [bare, store].map((rate) => Math.round(rate).toLocaleString('en').padStart(14));
    console.log(`${String(inFlight).padStart(9)} | ${bareText} | ${storeText} | ${(ratio * 100).toFixed(0).padStart(8)} %`);
  }
  const isMet = Math.min(...ratios) >= TARGET;
  console.log(`target: at least ${TARGET * 100} % each: ${isMet ? 'met' : 'NOT met'}`);
}

async function compare(inFlight: number): Promise<{ bare: number; store: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-bench-'));
  const traceIds = Array.from({ length: inFlight }, () => randomBytes(16).toString('hex'));
  try {
    const sides = {
      bare: await openBare(join(folder, 'bare.db')),
      store: await openStore(join(folder, 'store.db'), traceIds),
    };
    const rates: Record<keyof typeof sides, number[]> = { bare: [], store: [] };
    const written = { bare: 0, store: 0 };
    for (let round = -1; round < ROUNDS; round++) {
      for (const name of round % 2 === 0 ? (['bare', 'store'] as const) : (['store', 'bare'] as const)) {
        const { appends, seconds } = await measure(sides[name].append, traceIds);
        written[name] += appends;
        if (round >= 0) rates[name].push(appends / seconds); // the round before the first warms up
      }
    }
    for (const name of ['bare', 'store'] as const) {
      const found = await sides[name].count();
      if (found !== written[name]) throw new Error(`${name}: ${written[name]} were acknowledged, ${found} are there`);
      await sides[name].close();
    }
    return { bare: median(rates.bare), store: median(rates.store) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(append: Append, traceIds: readonly string[]): Promise<{ appends: number; seconds: number }> {
  let appends = 0;
  const start = performance.now();
  const writers = traceIds.map(async (traceId) => {
    for (let step = 1; performance.now() - start < ROUND_MS; step++) {
      await append(traceId, toEvent(step));
      appends++;
    }
  });
  await Promise.all(writers);
  return { appends, seconds: (performance.now() - start) / 1_000 };
}

async function openStore(path: string, traceIds: readonly string[]): Promise<Side> {
  const database = await openDatabase(`sqlite:${path}`);
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
  for (const traceId of traceIds) await store.create({ traceId, account: 'local', queued: REQUEST });
  return {
    append: (traceId, event) => store.append(traceId, 1, [event]),
    async count() {
      const { seq } = await database.kysely
        .selectFrom('events')
        .select(({ fn }) => fn.countAll<number>().as('seq'))
        .executeTakeFirstOrThrow();
      return seq - traceIds.length; // without each trace's run.queued
    },
    close: () => database.close(),
  };
}

async function openBare(path: string): Promise<Side> {
  await (await openDatabase(`sqlite:${path}`)).close(); // the same schema
  const database = new DatabaseSync(path);
  for (const setting of ['busy_timeout = 5000', 'journal_mode = wal', 'synchronous = full', 'foreign_keys = on']) {
    database.exec(`pragma ${setting}`);
  }
  const insert = database.prepare('insert into events (trace_id, seq, attempt, at, type, body) values (?, ?, ?, ?, ?, ?)');
  const begin = database.prepare('begin immediate');
  const commit = database.prepare('commit');
  const lastSeq = new Map<string, number>();
  let waiting: { row: unknown[]; resolve: () => void }[] = [];
  const flush = () => {
    const group = waiting;
    waiting = [];
    begin.run();
    for (const { row } of group) insert.run(...row);
    commit.run();
    for (const { resolve } of group) resolve();
  };
  return {
    append(traceId, event) {
      const seq = (lastSeq.get(traceId) ?? 0) + 1;
      lastSeq.set(traceId, seq);
      const row = [traceId, seq, 1, Date.now(), event.type, JSON.stringify(event)];
      return new Promise<void>((resolve) => {
        if (waiting.push({ row, resolve }) === 1) setImmediate(flush);
      });
    },
    async count() {
      return database.prepare('select count(*) as rows from events').get().rows;
    },
    async close() {
      database.close();
    },
  };
}

const REQUEST: Omit<EventOf<'run.queued'>, 'type' | 'previous_end'> = {
  origin: 'run',
  env_name: 'counter',
  scenario_name: 'count_to',
  scenario_args: { target: 3 },
  model: 'proctor/oracle',
  max_steps: 100,
  timeout_seconds: 3_600,
  seed: null,
  sampling: {},
  metadata: {},
  priority: 0,
};

const TEXT = 'The order was found and its items are listed below. '.repeat(15);

function toEvent(step: number): EventOf<'tool.responded'> {
  return {
    type: 'tool.responded',
    turn: 1,
    step,
    tool_call_id: `call_${step}`,
    name: 'get_order_details',
    content: [{ type: 'text', text: TEXT }],
    structured_content: null,
    is_error: false,
    duration_ms: 3,
  };
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run();
