import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import pg from 'pg';
import type { Database } from '../src/database/database.ts';
import { freePort } from './free-port.ts';

/** A Postgres that ends with this process, however that ends. */
export interface PostgresServer {
  readonly port: number;
  /** Of a new database. */
  createDatabase(): Promise<string>;
  /** Of a database of that name, which need not be there. */
  urlOf(database: string, user?: { readonly name?: string; readonly password?: string }): string;
  /** `kill` is `kill -9` of the server; `start` brings it back. */
  command(name: 'restart' | 'stop' | 'start' | 'kill'): Promise<void>;
  close(): Promise<void>;
}

let shared: Promise<PostgresServer> | undefined;

/** The one server of this test worker, started by the first who asks. */
export function sharedPostgres(): Promise<PostgresServer> {
  shared ??= startPostgres();
  return shared;
}

/** What makes a database as new for the next test, much faster than a new one, and than "truncate". */
export async function emptyTables(database: Database): Promise<void> {
  const known = await database.kysely.introspection.getTables();
  const names = known.filter(({ schema }) => schema === 'public').map(({ name }) => name);
  // First what others refer to the least: traces take their events and references with them.
  for (const name of new Set(['traces', ...names])) await sql`delete from ${sql.table(name)}`.execute(database.kysely);
}

/** A server of one's own, to be stopped and killed. */
export async function startPostgres({ isDurable = false } = {}): Promise<PostgresServer> {
  const script = fileURLToPath(new URL('postgres-server.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, String(await freePort()), ...(isDurable ? ['--durable'] : [])], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true, // An interrupt of the terminal reaches the tests alone, and it ends after them.
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async () => (await lines.next()).value as string | undefined;
  const first = await nextLine();
  const port = Number(first);
  if (!Number.isInteger(port)) throw new Error(`Postgres could not be started: ${first}`);
  child.unref();
  const streams = [child.stdin, child.stdout] as unknown as readonly Socket[]; // Pipes of a process are sockets.
  for (const stream of streams) stream.unref();

  const urlOf: PostgresServer['urlOf'] = (database, { name = 'proctor', password = 'pass@word/1' } = {}) =>
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
