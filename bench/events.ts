import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DatabaseSync } from '@photostructure/sqlite';
import type { EventOf } from '../src/contract/service/event.ts';
import { openDatabase } from '../src/store/database/open-database.ts';
import { createTraceStore } from '../src/store/traces/database-store.ts';

const IN_FLIGHT = [1, 8, 32, 200];
const ROUNDS = 61;
const WARM_UP_ROUNDS = 10;
const ROUND_MS = 40;
const TARGET = 0.8;

interface Side {
  /** Appends one event to a trace and resolves once it is durable. */
  append(traceId: string, event: EventOf<'tool.responded'>): Promise<unknown>;
  close(): Promise<void>;
}

interface Figures {
  readonly perSecond: number;
  /** Processor time of one append, in microseconds. */
  readonly cpuUs: number;
}

/**
 * Durable appends per second through the store, beside the bare driver that commits the same rows in the same groups:
 * one prepared insert for each row, in one transaction at the end of the event-loop turn. The bare side checks no
 * attempt and updates no trace, and it numbers events from memory. Both encode their events and write to the same
 * schema with the same settings; every writer has a trace of its own. Rounds alternate; medians, that of the ratio too.
 */
export async function run(): Promise<void> {
  console.log(`Durable appends, ~1 KB events, WAL, safe from kill -9: medians of ${ROUNDS} alternating rounds`);
  console.log('in flight | bare driver/s |   store/s | store/bare | bare µs CPU | store µs CPU');
  const ratios: number[] = [];
  for (const inFlight of IN_FLIGHT) {
    const { bare, store, ratio } = await compare(inFlight);
    ratios.push(ratio);
    const cells: [string, number][] = [
      [String(inFlight), 9],
      [Math.round(bare.perSecond).toLocaleString('en'), 13],
      [Math.round(store.perSecond).toLocaleString('en'), 9],
      [`${(ratio * 100).toFixed(0)} %`, 10],
      [bare.cpuUs.toFixed(1), 11],
      [store.cpuUs.toFixed(1), 12],
    ];
    console.log(cells.map(([cell, width]) => cell.padStart(width)).join(' | '));
  }
  const isMet = Math.min(...ratios) >= TARGET;
  console.log(`target: at least ${TARGET * 100} % in each row: ${isMet ? 'met' : 'NOT met'}`);
}

async function compare(inFlight: number): Promise<{ bare: Figures; store: Figures; ratio: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-bench-'));
  const paths = { bare: join(folder, 'bare.db'), store: join(folder, 'store.db') };
  const traceIds = Array.from({ length: inFlight }, () => randomBytes(16).toString('hex'));
  try {
    const sides = { bare: await openBare(paths.bare, traceIds), store: await openStore(paths.store, traceIds) };
    const figures: Record<keyof typeof sides, Figures[]> = { bare: [], store: [] };
    const acknowledged = { bare: 0, store: 0 };
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
      for (const name of round % 2 === 0 ? (['bare', 'store'] as const) : (['store', 'bare'] as const)) {
        const { appends, ...measured } = await measure(sides[name], traceIds);
        acknowledged[name] += appends;
        if (round >= 0) figures[name].push(measured);
      }
    }
    for (const name of ['bare', 'store'] as const) {
      await sides[name].close();
      const found = countEvents(paths[name]);
      if (found !== acknowledged[name]) {
        throw new Error(`${name}: ${acknowledged[name]} appends were acknowledged, ${found} are there`);
      }
    }
    // Of each round by itself: other work on the machine comes and goes between the rounds.
    const ratios = figures.store.map(
      ({ perSecond }, round) => perSecond / (figures.bare[round]?.perSecond ?? Number.NaN),
    );
    return { bare: toMedians(figures.bare), store: toMedians(figures.store), ratio: median(ratios) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(side: Side, traceIds: readonly string[]): Promise<Figures & { appends: number }> {
  let appends = 0;
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const writers = traceIds.map(async (traceId) => {
    for (let step = 1; performance.now() - start < ROUND_MS; step++) {
      await side.append(traceId, toEvent(step));
      appends++;
    }
  });
  await Promise.all(writers);
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { appends, perSecond: appends / seconds, cpuUs: (user + system) / appends };
}

async function openStore(path: string, traceIds: readonly string[]): Promise<Side> {
  const database = await openDatabase(`sqlite:${path}`);
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
  for (const traceId of traceIds) await store.create({ traceId, account: 'local', queued: REQUEST });
  return {
    append: (traceId, event) => store.append(traceId, 1, [event]),
    close: () => database.close(),
  };
}

async function openBare(path: string, traceIds: readonly string[]): Promise<Side> {
  await (await openStore(path, traceIds)).close(); // the same schema, and rows for the events to refer to
  const database = connect(path);
  const insert = database.prepare(
    'insert into events (trace_id, seq, attempt, at, type, body) values (?, ?, ?, ?, ?, ?)',
  );
  const begin = database.prepare('begin immediate');
  const commit = database.prepare('commit');
  const lastSeq = new Map(traceIds.map((traceId) => [traceId, 1]));
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
    async close() {
      database.close();
    },
  };
}

function connect(path: string) {
  const database = new DatabaseSync(path);
  for (const setting of ['busy_timeout = 5000', 'journal_mode = wal', 'synchronous = normal', 'foreign_keys = on']) {
    database.exec(`pragma ${setting}`);
  }
  return database;
}

function countEvents(path: string): number {
  const database = connect(path);
  try {
    return database.prepare("select count(*) as events from events where type = 'tool.responded'").get().events;
  } finally {
    database.close();
  }
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

function toMedians(figures: readonly Figures[]): Figures {
  return {
    perSecond: median(figures.map(({ perSecond }) => perSecond)),
    cpuUs: median(figures.map(({ cpuUs }) => cpuUs)),
  };
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run();
