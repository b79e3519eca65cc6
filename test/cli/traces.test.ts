import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { EventBody } from '../../src/contract/service/event.ts';
import { traceListSchema, traceSchema } from '../../src/contract/service/trace.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import type { TraceStore } from '../../src/store/traces/trace-store.ts';
import { freePort } from '../free-port.ts';
import { sharedPostgres } from '../postgres.ts';
import { send } from '../support/http/http-server.ts';
import { createProject, PATIENCE, proctor, shellLine, start } from './command.ts';

/** The program that gives a command a terminal; its options are those of Linux. */
const SCRIPT = '/usr/bin/script';
const TERMINAL = process.platform === 'linux' && existsSync(SCRIPT);
if (!TERMINAL) console.log('Without "script" of util-linux the question on a terminal is not tested.');

const DAY_MS = 86_400_000;
const COUNT = ['run', 'counter', 'count_to', '--arg', 'target=2', '--model', 'proctor/oracle', '--json'];

describe('proctor traces list and show', PATIENCE, () => {
  it('list finds what a run left, by its filters; show tells it step by step', async () => {
    const cwd = createProject('counter');
    await proctor(COUNT, { cwd });
    const listed = await proctor(['traces', 'list', '--env', 'counter', '--status', 'completed', '--json'], { cwd });
    const { data, next_cursor } = traceListSchema.parse(JSON.parse(listed.stdout));
    const [trace] = data;
    expect([listed.code, data.length, next_cursor, trace?.reward]).toEqual([0, 1, null, 1]);
    const id = trace?.trace_id ?? '';

    const table = await proctor(['traces', 'list', '--since', '1h', '--min-reward', '1'], { cwd });
    expect(table.stdout).toMatch(
      new RegExp(
        `^TRACE +MADE +STATE +REWARD +SCENARIO +MODEL +TOOK +QUEUED +TOKENS\\n${id} +\\S+Z +completed +1 +counter/count_to +proctor/oracle +\\S+ m?s +\\S+ m?s +\\d+\\n$`,
      ),
    );
    const none = await proctor(['traces', 'list', '--status', 'failed'], { cwd });
    expect([none.code, none.stdout, none.stderr]).toEqual([0, '', 'No traces like that.\n']);

    const shown = await proctor(['traces', 'show', id], { cwd });
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain('scenario  counter/count_to {"target":2}\n');
    expect(shown.stdout).toMatch(/prompt Make the counter show exactly 2[\s\S]*increment {"by":2}\n +→ 2\n/);
    expect(shown.stdout).toMatch(
      /answer The counter shows 2\.\n[\s\S]*reward 1\n[\s\S]*model calls, 1 tool calls, [\s\S]*\/traces\/[0-9a-f]{32}\n$/,
    );
    const whole = await proctor(['traces', 'show', id, '--json'], { cwd });
    expect(traceSchema.parse(JSON.parse(whole.stdout)).steps).toHaveLength(2);
  });

  it('text of a model cannot move the cursor of the terminal', async () => {
    const cwd = createProject();
    const [id] = await fill(cwd, [{ answer: 'red \u001b[31m and up\u001b[1A' }]);
    const { stdout } = await proctor(['traces', 'show', id ?? ''], { cwd });
    expect(stdout).toContain('answer red \ufffd[31m and up');
    expect(stdout).not.toContain('\u001b');
  });

  it('the pages of a list lead on by their cursor', async () => {
    const cwd = createProject();
    const ids = await fill(cwd, [{ daysAgo: 3 }, { daysAgo: 2 }, { daysAgo: 1 }]);
    const first = await proctor(['traces', 'list', '--limit', '2'], { cwd });
    const [, cursor = ''] = /--cursor (\S+)/.exec(first.stderr) ?? [];
    const second = await proctor(['traces', 'list', '--limit', '2', '--cursor', cursor], { cwd });
    expect(first.stdout).toContain(ids[2]);
    expect([second.stdout.trim().split('\n').length, second.stdout.includes(ids[0] ?? '-')]).toEqual([2, true]);
  });

  it.each([
    [['list', '--since', 'yesterday'], 2, /ISO|2026-11-21T09:00:00Z/],
    [['list', '--status', 'done'], 2, /queued/],
    [['list', '--metadata', 'key'], 2, /key=value/],
    [['list', '--cursor', 'nonsense'], 2, /cursor/],
    [['show', 'f'.repeat(32)], 1, /There is no trace "f{32}".*traces list/],
    [['prune'], 2, /--older-than 30d/],
    [['prune', '--older-than', 'soon', '--yes'], 2, /30d or 2w/],
    [['prune', '--older-than', '1d', '--status', 'running', '--yes'], 2, /completed/],
    [['prune', '--older-than', '1d'], 2, /--yes.*--dry-run/],
  ])('%j ends with %i and says what is right', async (args, code, message) => {
    const ended = await proctor(['traces', ...args], { cwd: createProject() });
    expect([ended.code, ended.stdout]).toEqual([code, '']);
    expect(ended.stderr).toMatch(message);
  });
});

describe('proctor traces prune', PATIENCE, () => {
  it('deletes what ended before, and nothing that is younger, queued or running; a dry run deletes nothing', async () => {
    const cwd = createProject();
    const ids = await fill(cwd, [
      { daysAgo: 40 },
      { daysAgo: 40, end: 'queued' },
      { daysAgo: 40, end: 'running' },
      { daysAgo: 31 },
      { daysAgo: 3 },
    ]);
    const dry = await proctor(['traces', 'prune', '--older-than', '30d', '--dry-run'], { cwd });
    expect([dry.code, dry.stdout]).toEqual([
      0,
      expect.stringMatching(/^Would delete 2 traces, the oldest of \d{4}-\d\d-\d\d\.\n$/),
    ]);
    expect(await remaining(cwd)).toHaveLength(5);

    const pruned = await proctor(['traces', 'prune', '--older-than', '30d', '--yes', '--json'], { cwd });
    expect([pruned.code, JSON.parse(pruned.stdout)]).toMatchObject([0, { matched: 2, deleted: 2, dry_run: false }]);
    expect(await remaining(cwd)).toEqual([ids[1], ids[2], ids[4]].sort());
    const again = await proctor(['traces', 'prune', '--older-than', '30d', '--yes'], { cwd });
    expect([again.code, again.stdout]).toEqual([0, 'Nothing to delete.\n']);
  });

  it('--keep-last keeps the newest whatever their age, --status and --env narrow it', async () => {
    const cwd = createProject();
    const ids = await fill(cwd, [
      { daysAgo: 9 },
      { daysAgo: 8, status: 'failed' },
      { daysAgo: 7, env: 'shop' },
      { daysAgo: 6 },
      { daysAgo: 5 },
    ]);
    const prune = async (...args: string[]) => {
      const { code } = await proctor(['traces', 'prune', ...args, '--yes'], { cwd });
      expect(code).toBe(0);
      return await remaining(cwd);
    };
    expect(await prune('--keep-last', '5')).toHaveLength(5);
    expect(await prune('--older-than', '1d', '--status', 'failed')).toEqual([ids[0], ids[2], ids[3], ids[4]].sort());
    expect(await prune('--older-than', '1d', '--env', 'shop')).toEqual([ids[0], ids[3], ids[4]].sort());
    expect(await prune('--older-than', '1d', '--keep-last', '2')).toEqual([ids[3], ids[4]].sort());
    expect(await prune('--keep-last', '1')).toEqual([ids[4]]);
  });

  it.runIf(TERMINAL)('asks on a terminal, and deletes nothing for anything but a yes', async () => {
    const cwd = createProject();
    await fill(cwd, [{ daysAgo: 40 }, { daysAgo: 1 }]);
    const ask = async (keys: string) => {
      const prune = shellLine(['traces', 'prune', '--older-than', '30d']);
      const command = `stty cols 120 rows 40; ${prune}`; // Without columns every letter is a line.
      const terminal = spawn(SCRIPT, ['-qec', command, '/dev/null'], { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
      onTestFinished(() => void terminal.kill('SIGKILL'));
      const ended = once(terminal, 'close');
      let shown = '';
      terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
        const isAsked = shown.includes('Delete 1 trace');
        shown += text;
        if (!isAsked && shown.includes('Delete 1 trace')) terminal.stdin.write(keys);
      });
      const [code] = await ended;
      return { code, shown };
    };
    for (const keys of ['n', '\r', '\u0003']) {
      const refused = await ask(keys);
      expect([refused.code, refused.shown, await remaining(cwd)]).toMatchObject([
        1,
        expect.stringContaining('Nothing was deleted.'),
        { length: 2 },
      ]);
    }
    const agreed = await ask('y');
    expect([agreed.code, agreed.shown]).toEqual([0, expect.stringContaining('Deleted 1 trace')]);
    expect(await remaining(cwd)).toHaveLength(1);
  });

  it('takes the events, metadata and images with it, but those that another trace shows; and the file gets smaller', async () => {
    const cwd = createProject();
    const [shared, alone] = [Buffer.alloc(200_000, 1), Buffer.alloc(2_000_000, 2)];
    const ids = await fill(cwd, [
      { daysAgo: 40, images: [shared, alone] },
      { daysAgo: 1, images: [shared] },
    ]);
    const file = join(cwd, '.proctor', 'proctor.db');
    const pruned = await proctor(['traces', 'prune', '--older-than', '30d', '--yes'], { cwd });
    expect([pruned.code, pruned.stdout]).toEqual([
      0,
      expect.stringMatching(/^Deleted 1 trace; the file is 2\.\d MB smaller\.\n$/),
    ]);
    expect(statSync(file).size).toBeLessThan(1_000_000);
    const database = await openDatabase(`sqlite:${file}`);
    const { kysely } = database;
    const blobs = await kysely
      .selectFrom('blobs')
      .select(({ fn }) => fn.sum<number>(fn('length', ['bytes'])).as('bytes'))
      .execute();
    const rows = await kysely.selectFrom('events').select('trace_id').distinct().execute();
    const tags = await kysely.selectFrom('trace_metadata').select('trace_id').distinct().execute();
    await database.close();
    expect([blobs, rows, tags]).toEqual([[{ bytes: 200_000 }], [{ trace_id: ids[1] }], [{ trace_id: ids[1] }]]);
  });

  it('goes on beside a server that runs, which loses nothing', async () => {
    const cwd = createProject('counter');
    await fill(
      cwd,
      Array.from({ length: 300 }, () => ({ daysAgo: 40 })),
    );
    const ports = [String(await freePort()), String(await freePort())];
    const service = start(['serve', '--port', ports[0] ?? '', '--scenario-port', ports[1] ?? '', '--json'], { cwd });
    const [line] = await service.prints(/^\{.*\}$/m);
    const { url } = z.object({ url: z.string() }).parse(JSON.parse(line));
    const key = readFileSync(join(cwd, '.proctor', 'key'), 'utf8').trim();
    const run = () =>
      send(url, '/v1/agent/run', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', prefer: 'wait=60' },
        body: JSON.stringify({
          env_name: 'counter',
          scenario_name: 'count_to',
          scenario_args: { target: 1 },
          model: 'proctor/oracle',
        }),
      });
    const pruning = proctor(['traces', 'prune', '--older-than', '30d', '--yes', '--json'], { cwd });
    const runs = await Promise.all(Array.from({ length: 8 }, run));
    const pruned = await pruning;
    expect([pruned.code, JSON.parse(pruned.stdout).deleted]).toEqual([0, 300]);
    expect(runs.map(({ json }) => json)).toMatchObject(runs.map(() => ({ status: 'completed', reward: 1 })));
    expect(await remaining(cwd)).toHaveLength(8);
    service.process.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
  });

  it('an older file keeps its size until --compact writes it anew', async () => {
    const cwd = createProject();
    const file = join(cwd, '.proctor', 'proctor.db');
    await fill(cwd, [{ daysAgo: 40, images: [Buffer.alloc(1_500_000, 3)] }]);
    const database = await openDatabase(`sqlite:${file}`);
    await database.close();
    const { DatabaseSync } = await import('@photostructure/sqlite');
    const connection = new DatabaseSync(file);
    connection.exec('pragma auto_vacuum = none; vacuum');
    connection.close();
    const pruned = await proctor(['traces', 'prune', '--older-than', '30d', '--yes'], { cwd });
    expect(pruned.stdout).toMatch(/1\.\d MB in the file are free and will be used again .*--compact/);
    const compacted = await proctor(['traces', 'prune', '--older-than', '30d', '--yes', '--compact'], { cwd });
    expect([compacted.code, compacted.stdout]).toEqual([
      0,
      expect.stringMatching(/^Deleted 0 traces; the file is 1\.\d MB smaller/),
    ]);
    expect(statSync(file).size).toBeLessThan(1_000_000);
  });

  it('does the same on Postgres', async () => {
    const cwd = createProject();
    const url = await (await sharedPostgres()).createDatabase();
    const ids = await fill(
      cwd,
      [{ daysAgo: 40, images: [Buffer.alloc(50_000, 4)] }, { daysAgo: 40, end: 'running' }, { daysAgo: 2 }],
      url,
    );
    const env = { PROCTOR_DATABASE_URL: url };
    const pruned = await proctor(['traces', 'prune', '--older-than', '30d', '--yes'], { cwd, env });
    expect([pruned.code, pruned.stdout]).toEqual([0, 'Deleted 1 trace. Postgres keeps their space for new traces.\n']);
    expect(await remaining(cwd, url)).toEqual([ids[1], ids[2]].sort());
    const backup = await proctor(['traces', 'backup', 'copy.db'], { cwd, env });
    expect([backup.code, backup.stdout]).toEqual([2, '']);
    expect(backup.stderr).toContain('pg_dump --format=custom');
    expect(backup.stderr).not.toMatch(/pass(%40|@)word/);
  });
});

describe('proctor traces backup', PATIENCE, () => {
  it('is the state of one moment beside a server that writes, for its owner alone, and can be put back', async () => {
    const cwd = createProject('counter');
    await fill(
      cwd,
      Array.from({ length: 20 }, (_, index) => ({ daysAgo: index, images: [Buffer.alloc(100_000, index)] })),
    );
    const ports = [String(await freePort()), String(await freePort())];
    const service = start(['serve', '--port', ports[0] ?? '', '--scenario-port', ports[1] ?? '', '--json'], { cwd });
    await service.prints(/^\{.*\}$/m);
    const running = Array.from({ length: 4 }, () => proctor(COUNT, { cwd }));
    const backup = await proctor(['traces', 'backup', 'copy.db', '--json'], { cwd });
    await Promise.all(running);
    const file = join(cwd, 'copy.db');
    expect([backup.code, JSON.parse(backup.stdout)]).toEqual([0, { file, bytes: statSync(file).size }]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(existsSync(`${file}.partial`)).toBe(false);
    const twice = await proctor(['traces', 'backup', 'copy.db'], { cwd });
    expect([twice.code, twice.stderr]).toEqual([1, expect.stringContaining('is there already')]);
    service.process.kill('SIGTERM');
    await service.ended;

    const store = join(cwd, '.proctor', 'proctor.db');
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${store}${suffix}`, { force: true });
    writeFileSync(store, readFileSync(file));
    const restored = await remaining(cwd);
    expect(restored.length).toBeGreaterThanOrEqual(20);
    const after = await proctor(COUNT, { cwd });
    expect([after.code, (await remaining(cwd)).length]).toEqual([0, restored.length + 1]);
  });

  it('leaves an older schema as it is, and nothing where it fails', async () => {
    const cwd = createProject();
    const nothing = await proctor(['traces', 'backup', 'copy.db'], { cwd });
    expect([nothing.code, nothing.stderr]).toEqual([1, expect.stringContaining('There is no database')]);
    expect(existsSync(join(cwd, '.proctor'))).toBe(false);
    await fill(cwd, [{}]);
    const nowhere = await proctor(['traces', 'backup', 'missing/copy.db'], { cwd });
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining('no such file or directory')]);
  });
});

interface Filled {
  readonly daysAgo?: number;
  readonly end?: 'queued' | 'running';
  readonly status?: 'completed' | 'failed';
  readonly env?: string;
  readonly answer?: string;
  readonly images?: readonly Buffer[];
}

/** Traces of their time in the store of this directory. @returns their ids. */
async function fill(cwd: string, traces: readonly Filled[], url = storeOf(cwd)): Promise<readonly string[]> {
  const database = await openDatabase(url);
  let now = 0;
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320', now: () => now });
  const ids: string[] = [];
  for (const [index, trace] of traces.entries()) {
    now = Date.now() - (trace.daysAgo ?? 0) * DAY_MS;
    const traceId = (index + 1).toString(16).padStart(32, '0');
    await fillOne(store, traceId, trace);
    ids.push(traceId);
  }
  await database.close();
  return ids;
}

async function fillOne(store: TraceStore, traceId: string, trace: Filled): Promise<void> {
  const { end, status = 'completed', env = 'counter', answer = 'done', images = [] } = trace;
  const request = { env_name: env, scenario_name: 'count_to', scenario_args: {}, model: 'proctor/noop' } as const;
  const limits = { max_steps: 1, timeout_seconds: 60, seed: null, sampling: {}, priority: 0 };
  await store.create({
    traceId,
    account: 'local',
    queued: { origin: 'run', ...request, ...limits, metadata: { of: 'test' } },
  });
  if (end === 'queued') return;
  const versions = { proctor: '1', environment: null, environment_hash: null, protocol: null, node: '20' };
  await store.append(traceId, 1, [{ type: 'run.started', versions } as EventBody]);
  for (const image of images) {
    const reference = await store.putBlob(traceId, image, 'image/png');
    await store.append(traceId, 1, [{ type: 'log', level: 'info', logger: 'test', message: reference }]);
  }
  if (end === 'running') return;
  const error = { boundary: 'environment', code: 'environment_failed', message: 'no' } as const;
  await store.append(traceId, 1, [
    { type: 'answer.submitted', answer },
    status === 'completed'
      ? { type: 'run.finished', status, stop_reason: 'answered', reward: 1, error: null }
      : { type: 'run.finished', status, stop_reason: 'error', reward: null, error },
  ]);
}

function storeOf(cwd: string): string {
  return `sqlite:${join(cwd, '.proctor', 'proctor.db')}`;
}

async function remaining(cwd: string, url = storeOf(cwd)): Promise<readonly string[]> {
  const database = await openDatabase(url);
  const rows = await database.kysely.selectFrom('traces').select('trace_id').execute();
  await database.close();
  return rows.map(({ trace_id }) => trace_id).sort();
}
