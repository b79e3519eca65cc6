import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import pg from 'pg';
import { inject, TestRunner } from 'vitest';
import type { Database } from '../src/store/database/database.ts';
import { freePort } from './free-port.ts';
import type { SharedPostgres } from './postgres-for-all.ts';

const SCRIPT = fileURLToPath(new URL('postgres-server.mjs', import.meta.url));

interface Addresses {
  readonly port: number;
  /** Of a new database. */
  createDatabase(): Promise<string>;
  /** Of a database of that name, which need not be there. */
  urlOf(database: string, user?: { readonly name?: string; readonly password?: string }): string;
}

/** A Postgres that ends with this process, however that ends. */
export interface PostgresServer extends Addresses {
  /** `kill` is `kill -9` of the server; `start` brings it back. */
  command(name: 'restart' | 'stop' | 'start' | 'kill'): Promise<void>;
  close(): Promise<void>;
}

let shared: Promise<Addresses> | undefined;

/**
 * The one server of a run of the tests, started by the first test that asks; each test makes databases of its own. Where
 * Postgres cannot run, the test that asks is skipped, and the run prints the reason once; where CI is set it fails.
 */
export async function sharedPostgres(): Promise<Addresses> {
  shared ??= askForShared();
  return await shared;
}

/** A server for one test, to be stopped and killed. The test is skipped where Postgres cannot run. */
export async function ownPostgres(): Promise<PostgresServer> {
  try {
    return await startPostgres({ isDurable: true });
  } catch (error) {
    await sharedPostgres();
    throw error;
  }
}

async function askForShared(): Promise<Addresses> {
  const answer = (await (await fetch(inject('postgresUrl'))).json()) as SharedPostgres;
  return 'port' in answer ? addressesAt(answer.port) : skipTest(`Postgres cannot be started: ${answer.unavailable}`);
}

/** Throws what Vitest knows a skipped test by. */
function skipTest(reason: string): never {
  const test = TestRunner.getCurrentTest();
  if (test === undefined || process.env.CI !== undefined) throw new Error(reason);
  try {
    return test.context.skip(reason);
  } finally {
    // Where tests run side by side this may be another one: skipped is the one that gets the error.
    const result = test.result as { pending?: boolean } | undefined;
    if (result !== undefined) delete result.pending;
  }
}

/** What makes a database as new for the next test, much faster than a new one, and than "truncate". */
export async function emptyTables(database: Database): Promise<void> {
  const known = await database.kysely.introspection.getTables();
  const names = known.filter(({ schema }) => schema === 'public').map(({ name }) => name);
  // First what others refer to the least: traces take their events and references with them.
  for (const name of new Set(['traces', ...names])) await sql`delete from ${sql.table(name)}`.execute(database.kysely);
}

/**
 * Starts a server that is nobody else's.
 *
 * @throws Error that says why Postgres cannot run here.
 */
export async function startPostgres({ isDurable = false, script = SCRIPT } = {}): Promise<PostgresServer> {
  const child = spawn(process.execPath, [script, String(await freePort()), ...(isDurable ? ['--durable'] : [])], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true, // An interrupt of the terminal reaches the tests alone, and it ends after them.
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async () => (await lines.next()).value as string | undefined;
  const first = (await nextLine()) ?? '';
  const port = Number(first);
  if (!(port > 0)) {
    child.stdin.end();
    await ended;
    throw new Error(first.replace(/^unavailable: /, '') || 'the process that starts it has ended');
  }
  child.unref();
  const streams = [child.stdin, child.stdout] as unknown as readonly Socket[]; // Pipes of a process are sockets.
  for (const stream of streams) stream.unref();
  return {
    ...addressesAt(port),
    async command(name) {
      for (const stream of streams) stream.ref();
      child.stdin.write(`${name}\n`);
      const answer = await nextLine();
      for (const stream of streams) stream.unref();
      if (answer !== name) throw new Error(`Postgres did not ${name}: ${answer}`);
    },
    async close() {
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}

function addressesAt(port: number): Addresses {
  const urlOf: Addresses['urlOf'] = (database, { name = 'proctor', password = 'pass@word/1' } = {}) =>
    `postgres://${name}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
  return {
    port,
    urlOf,
    async createDatabase() {
      const name = `proctor_${randomBytes(6).toString('hex')}`;
      const client = new pg.Client({ connectionString: urlOf('postgres') });
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      return urlOf(name);
    },
  };
}
