import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { z } from 'zod';
import { createAccounts } from '../../src/accounts/database-accounts.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open-database.ts';
import { createTraceStore } from '../../src/trace/database-store.ts';
import type { TraceStore } from '../../src/trace/trace-store.ts';
import { freePort } from '../cli/command.ts';
import { send } from '../http/http-server.ts';

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));

/** How often: `npm run test:faults` sets 20. Once, as in `npm test`, is a small form with fewer runs and faults. */
export const ROUNDS = Number(process.env.FAULT_ROUNDS ?? 1);
export const IS_SHORT = ROUNDS === 1;

const MAX_STARTS = 10;

export type Role = 'server' | 'worker' | 'both';

export interface Node {
  readonly role: Role;
  readonly child: ChildProcess;
  readonly pid: number;
  readonly port: number;
}

/** Processes of the run service that share one database, until the test ends. */
export interface Deployment {
  readonly database: Database;
  readonly store: TraceStore;
  readonly directory: string;
  /** Those that work. */
  readonly nodes: ReadonlySet<Node>;
  /** Without a port: one that is free. */
  start(role: Role, port?: number): Promise<Node>;
  /** `kill -9`, and waits for its end. */
  kill(node: Node): Promise<void>;
  /**
   * Sends a run to the server of this port until it is accepted: with one idempotency key, as a client does that cannot
   * know whether it was before the connection broke.
   */
  run(port: number, body: object): Promise<string>;
  /** Processes of environments that run now. */
  environments(): readonly number[];
  /** Stops every process in order and expects what has to hold after any fault; gives the end of each accepted run. */
  settle(accepted: readonly string[], withinMs: number): Promise<ReadonlyMap<string, string>>;
}

/** @param onEnd of the test: tests that run side by side have one each. */
export async function createDeployment(
  onEnd: (end: () => Promise<void>) => void,
  variables: Readonly<Record<string, string>> = {},
): Promise<Deployment> {
  const directory = mkdtempSync(join(tmpdir(), 'proctor-faults-'));
  const databaseUrl = `sqlite:${join(directory, 'proctor.db')}`;
  const database = await openDatabase(databaseUrl);
  const store = createTraceStore(database, { appUrl: 'https://app.example' });
  const { key } = await createAccounts(database).createKey({ name: 'faults' });
  // Inherited by all that the processes start, however they are started.
  const mark = `FAULT_DEPLOYMENT=${randomBytes(12).toString('hex')}`;
  const [markName = '', markValue = ''] = mark.split('=');
  const children = new Set<ChildProcess>();
  const nodes = new Set<Node>();
  onEnd(async () => {
    for (const child of children) child.kill('SIGKILL');
    await database.close();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  });

  const startNode = async (role: Role, port: number): Promise<Node | undefined> => {
    const modules = ['heavy', 'poison', '../../run-service/fixtures/gate'];
    const args = [role, databaseUrl, String(port), ...modules.map((name) => fixture(`${name}/environment.ts`))];
    const child = spawn(process.execPath, [fixture('node.mjs'), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, CLOCK_FILE: join(directory, 'clock'), ...variables, [markName]: markValue },
    });
    const node: Node = { role, child, pid: child.pid ?? 0, port };
    children.add(child);
    child.once('exit', () => {
      children.delete(child);
      nodes.delete(node);
    });
    const works = once(createInterface({ input: child.stdout }), 'line').then(() => true);
    if (!(await Promise.race([works, once(child, 'exit').then(() => false)]))) return undefined;
    nodes.add(node);
    return node;
  };

  return {
    database,
    store,
    directory,
    nodes,
    async start(role, port) {
      const ownPort = port ?? (await freePort());
      // As a supervisor does: a process that stands still may hold the lock of the file for longer than one waits for it.
      for (let tries = 1; ; tries += 1) {
        const node = await startNode(role, ownPort);
        if (node !== undefined) return node;
        if (tries === MAX_STARTS) throw new Error(`A ${role} did not start in ${tries} attempts`);
        await sleep(1_000);
      }
    },
    async kill({ child }) {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    async run(port, body) {
      const headers = {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': randomBytes(8).toString('hex'),
      };
      const request = { method: 'POST', headers, body: JSON.stringify({ model: 'proctor/oracle', ...body }) };
      for (;;) {
        const reply = await send(`http://127.0.0.1:${port}`, '/v1/agent/run', request).catch(() => undefined);
        if (reply?.status === 200) return z.object({ trace_id: z.string() }).parse(reply.json).trace_id;
        if (reply !== undefined && reply.status < 500 && reply.status !== 409) throw new Error(reply.text);
        await sleep(100);
      }
    },
    environments: () =>
      processesWith(mark).filter((pid) => readProcess(pid, 'cmdline').includes('environment-main.js')),
    async settle(accepted, withinMs) {
      await eventually(withinMs, async () => expect(await unfinished(database)).toEqual([]));
      const rows = await database.kysely.selectFrom('traces').select(['trace_id', 'status']).execute();
      const ends = new Map(rows.map(({ trace_id, status }) => [trace_id, status]));
      expect(accepted.filter((id) => !ends.has(id))).toEqual([]);
      for (const { trace_id } of rows) await checkEvents(store, trace_id);
      // Worker for worker: each gives up what it holds, and its process is gone.
      const stopping = [...nodes].map(async ({ child }) => {
        const gone = once(child, 'exit');
        child.kill('SIGTERM');
        expect(await gone).toEqual([0, null]);
      });
      await Promise.all(stopping);
      expect(await database.kysely.selectFrom('queue').selectAll().execute()).toEqual([]);
      const left = () => processesWith(mark).map((pid) => readProcess(pid, 'cmdline'));
      await eventually(20_000, () => expect(left()).toEqual([]));
      return ends;
    },
  };
}

/** Tries until it holds. `expect.poll` knows one test at a time, and these run side by side. */
export async function eventually(withinMs: number, check: () => void | Promise<void>): Promise<void> {
  const endsAt = performance.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > endsAt) throw error;
      await sleep(100);
    }
  }
}

async function unfinished(database: Database): Promise<readonly unknown[]> {
  return await database.kysely
    .selectFrom('traces')
    .select('trace_id')
    .where('status', 'in', ['queued', 'running'])
    .execute();
}

/** In order without gap, attempt after attempt, and one end, which is the last. */
async function checkEvents(store: TraceStore, traceId: string): Promise<void> {
  const events = await store.events(traceId);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  const attempts = events.map(({ attempt }) => attempt);
  expect(attempts).toEqual([...attempts].sort((a, b) => a - b));
  expect(events.filter(({ type }) => type === 'run.finished')).toHaveLength(1);
  expect([events[0]?.type, events.at(-1)?.type]).toEqual(['run.queued', 'run.finished']);
}

function processesWith(mark: string): readonly number[] {
  if (process.platform !== 'linux') return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => pid !== process.pid && readProcess(pid, 'environ').includes(mark));
}

function readProcess(pid: number, file: 'environ' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
