import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { access, constants, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { messageOf } from '../../../contract/errors.ts';
import type { Project } from '../../../service/config/project.ts';
import type { Settings } from '../../../service/config/settings.ts';
import { type DatabaseReport, inspectDatabase } from '../../../store/database/inspect-database.ts';
import { isLoopbackHost } from '../../../support/http/origin-guard.ts';
import { ageText, bytesText, countText } from '../../../support/text/figures.ts';
import { foreignKey, localKeyFile } from '../../base/local-key.ts';
import { shownAddress } from '../../base/shown-address.ts';
import type { Finding } from './finding.ts';
import { pingRedis } from './redis-ping.ts';

const FREE_BYTES = { warn: 2_000_000_000, fail: 200_000_000 } as const;
/** Milliseconds that a run may wait while none is executed. Longer waits mean that no worker runs. */
const LONG_WAIT_MS = 60_000;
/** The same limit where leases are known: an idle worker takes a run within two seconds. */
const UNLEASED_WAIT_MS = 10_000;

/** The store; undefined if it does not exist yet or cannot be opened. */
export interface CheckedStore {
  readonly finding: Finding;
  readonly report: DatabaseReport | undefined;
}

export async function checkStore({ databaseUrl }: Pick<Settings, 'databaseUrl'>): Promise<CheckedStore> {
  const address = shownAddress(databaseUrl);
  const fail = (message: string): CheckedStore => ({
    finding: { name: 'store', status: 'fail', message: `${address}: ${message}`, facts: { address } },
    report: undefined,
  });
  let report: DatabaseReport | undefined;
  try {
    report = await inspectDatabase(databaseUrl);
  } catch (error) {
    const said = messageOf(error);
    if (databaseUrl.startsWith('sqlite:')) return fail(`${said}. ${FILE_REMEDY}`);
    return { finding: { name: 'store', status: 'fail', message: said, facts: { address } }, report: undefined };
  }
  if (report === undefined) return await checkMissingFile(databaseUrl, fail);
  const facts = { address, engine: report.engine, schema: report.schema, bytes: report.bytes };
  if (!report.isSchemaKnown) {
    return fail(`a newer Proctor wrote it (schema ${report.schema}): update this one, or set PROCTOR_DATABASE_URL`);
  }
  if (databaseUrl.startsWith('sqlite:')) {
    const trouble = await fileTrouble(databaseUrl);
    if (trouble !== undefined) return fail(trouble);
  }
  const journal = report.journalMode === null ? '' : `, journal ${report.journalMode}`;
  const message = `${address} opens: ${report.engine}${journal}, ${bytesText(report.bytes)}`;
  const opened = toOpened(report, databaseUrl);
  return { finding: { name: 'store', ...opened, message: `${message}${opened.message}`, facts }, report };
}

/** Free space of the disk with the SQLite file. */
export async function checkDisk({ databaseUrl }: Pick<Settings, 'databaseUrl'>): Promise<Finding | undefined> {
  if (!databaseUrl.startsWith('sqlite:') || databaseUrl === 'sqlite::memory:') return undefined;
  const folder = existingFolder(pathOf(databaseUrl));
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const facts = { free_bytes: free };
  const message = `${bytesText(free)} free where the database is`;
  if (free >= FREE_BYTES.warn) return { name: 'disk', status: 'ok', message, facts };
  const remedy =
    'make room ("proctor traces prune --older-than 30d" does), or move the database (PROCTOR_DATABASE_URL)';
  return { name: 'disk', status: free < FREE_BYTES.fail ? 'fail' : 'warn', message: `${message}: ${remedy}`, facts };
}

/** @param store its rows decide which runs the queue should contain. */
export async function checkQueue(settings: Settings, store: CheckedStore): Promise<Finding> {
  const { queueUrl } = settings;
  const { report } = store;
  const where = queueUrl === undefined ? 'in the database' : shownAddress(queueUrl);
  if (queueUrl !== undefined && /^rediss?:/.test(queueUrl)) await pingRedis(queueUrl);
  if (report === undefined && store.finding.status === 'fail') {
    return { name: 'queue', status: 'warn', message: `${where}: the store, which knows the runs, does not open` };
  }
  if (report === undefined) return { name: 'queue', status: 'ok', message: `${where}; nothing was accepted yet` };
  const { queued, running, oldestQueuedAt } = report.runs;
  const waitedMs = oldestQueuedAt === null ? null : Date.now() - oldestQueuedAt;
  // With another queue the leases are not known here.
  const leased = queueUrl === undefined ? report.leased : null;
  const facts = { queued, running, leased, oldest_waiting_ms: waitedMs };
  const oldest = waitedMs === null ? '' : `, the oldest for ${ageText(waitedMs)}`;
  const held = leased === null ? '' : ` (${leased} held by a worker)`;
  const message = `${where}: ${countText(queued, 'run')} waiting${oldest}, ${running} running${held}`;
  const isWorkedOn = (leased ?? running) > 0;
  const longWaitMs = leased === null ? LONG_WAIT_MS : UNLEASED_WAIT_MS;
  const isWaited = (waitedMs !== null && waitedMs > longWaitMs) || (leased === 0 && running > 0);
  if (isWorkedOn || !isWaited) return { name: 'queue', status: 'ok', message, facts };
  return {
    name: 'queue',
    status: 'warn',
    message: `${message}: nobody executes them, start "proctor serve" or "proctor worker"`,
    facts,
  };
}

export function checkKeys(report: DatabaseReport | undefined, host: string, project: Project): Finding {
  const named = report?.keys.named ?? [];
  const own = named.filter((name) => name !== 'local');
  const facts = { in_force: named.length };
  const known = named.length === 0 ? 'no key yet' : `${countText(named.length, 'key')} in force`;
  if (!isLoopbackHost(host) && own.length === 0) {
    const remedy = `"proctor serve --host ${host}" will refuse to start: make one with "proctor keys create --name <name>"`;
    return { name: 'keys', status: 'fail', message: `${known}, and none of your own. ${remedy}`, facts };
  }
  const kept = localKeyFile(project);
  const file = join(project.directory, kept);
  const mode = existsSync(file) ? statSync(file).mode & 0o777 : 0;
  if ((mode & 0o077) !== 0) {
    return {
      name: 'keys',
      status: 'warn',
      message: `others on this machine can read ${kept}: chmod 600 ${kept}`,
      facts,
    };
  }
  if (report !== undefined && named.length > 0 && existsSync(file) && !isInForce(file, report)) {
    return { name: 'keys', status: 'warn', message: `${known}. ${foreignKey(project)}`, facts };
  }
  const first = named.length === 0 ? ': the first "proctor serve" makes one' : '';
  return { name: 'keys', status: 'ok', message: `${known}${first}`, facts };
}

function isInForce(file: string, { keys }: DatabaseReport): boolean {
  const hash = createHash('sha256').update(readFileSync(file, 'utf8').trim()).digest('hex');
  return keys.hashes.includes(hash);
}

function toOpened(report: DatabaseReport, url: string): Pick<Finding, 'status' | 'message'> {
  if (report.schema === null) return { status: 'ok', message: ', empty: the next command makes the tables' };
  if (!url.startsWith('sqlite:')) return { status: 'ok', message: '' };
  if (report.journalMode !== 'wal') {
    return { status: 'warn', message: ': not in WAL mode, as after a restore; the next command changes that' };
  }
  const mode = statSync(pathOf(url)).mode & 0o777;
  if ((mode & 0o077) === 0) return { status: 'ok', message: '' };
  return { status: 'warn', message: `: others on this machine can read it, chmod 600 ${url.slice('sqlite:'.length)}` };
}

async function checkMissingFile(url: string, fail: (message: string) => CheckedStore): Promise<CheckedStore> {
  if (url === 'sqlite::memory:') {
    const message = 'in memory: everything is lost when the process ends; set PROCTOR_DATABASE_URL to keep it';
    return { finding: { name: 'store', status: 'warn', message }, report: undefined };
  }
  const folder = existingFolder(pathOf(url));
  if (!(await isWritable(folder))) return fail(`its folder cannot be written. ${FILE_REMEDY}`);
  const message = `${shownAddress(url)} does not exist yet: the first command makes it`;
  return { finding: { name: 'store', status: 'ok', message }, report: undefined };
}

async function fileTrouble(url: string): Promise<string | undefined> {
  const path = pathOf(url);
  if (!(await isWritable(path))) return 'this user may not write it: start as its owner, or change its owner';
  if (!(await isWritable(dirname(path)))) return 'this user may not write its folder, where SQLite keeps its journal';
  return undefined;
}

const FILE_REMEDY = 'Check PROCTOR_DATABASE_URL and who owns the file; a backup is put back as docs/deployment.md says';

async function isWritable(path: string): Promise<boolean> {
  return await access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}

function pathOf(url: string): string {
  return resolve(url.slice('sqlite:'.length));
}

/** The nearest existing folder above a path. */
function existingFolder(path: string): string {
  const folder = dirname(path);
  return existsSync(folder) || folder === path ? folder : existingFolder(folder);
}
