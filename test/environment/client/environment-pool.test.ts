import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createCatalogue } from '../../../src/environment/client/catalogue.ts';
import type { EnvironmentLimits, EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import type { McpEnvironmentClient } from '../../../src/environment/client/mcp-environment-client.ts';
import { EnvironmentPool, type EnvironmentPoolOptions } from '../../../src/environment/client/pool/environment-pool.ts';
import { hashTargetCode } from '../../../src/environment/client/pool/module-hash.ts';
import { until } from '../../until.ts';
import { createLab } from '../dev/project.ts';
import { processesNamed } from './processes.ts';

/** An environment whose tools say which process they run in. Four sessions share one. */
const SOURCE = `import { EnvironmentServer } from 'proctor';

export default function lab() {
  const env = new EnvironmentServer({ name: 'lab', version: '1', sessionsPerProcess: 4 });
  let calls = 0;
  env.tool('pid', {}, () => process.pid);
  env.tool('count', {}, () => ++calls);
  env.tool('exit', {}, () => process.exit(7));
  env.tool('wait', {}, () => new Promise<void>(() => {}));
  return env;
}
`;

function open(
  options: Partial<EnvironmentPoolOptions> & { readonly limits?: EnvironmentLimits; readonly source?: string } = {},
) {
  const { limits, source = SOURCE, ...poolOptions } = options;
  const { path } = createLab(source);
  const target: EnvironmentTarget = { kind: 'module', path, ...(limits === undefined ? {} : { limits }) };
  const pool = new EnvironmentPool({ perEnvironment: 0, hosts: 1, ...poolOptions });
  const clients: McpEnvironmentClient[] = [];
  onTestFinished(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await pool.close();
    await until(() => processesNamed(path).length === 0);
  });
  const connect = async (more: { isAlone?: boolean; kind?: 'chat' | 'run'; signal?: AbortSignal } = {}) => {
    const client = await pool.connect(target, { codeHash: await hashTargetCode(target), ...more });
    clients.push(client);
    return client;
  };
  return { pool, target, path, connect };
}

async function ask(client: McpEnvironmentClient, tool: string): Promise<number> {
  const { content } = await client.call(tool, {});
  const [block] = content;
  return Number(block?.type === 'text' ? block.text : Number.NaN);
}

const pidOf = (client: McpEnvironmentClient) => ask(client, 'pid');

describe('the pool of environment processes', { timeout: 60_000 }, () => {
  it('learns from the code how many sessions share a process, and has all of them share', async () => {
    const { connect, pool, target } = open({ hosts: 2 });
    const clients = await Promise.all(Array.from({ length: 5 }, () => connect()));
    const pids = await Promise.all(clients.map(pidOf));
    expect(new Set(pids).size).toBe(2);
    expect(pool.capacityOf(target)).toBe(8);
    const { sessions, hosts } = pool.figures(target);
    expect([sessions, hosts.reduce((sum, host) => sum + host.sessions, 0)]).toEqual([0, 5]);
    // Each has an instance of its own.
    for (const client of clients) expect(await ask(client, 'count')).toBe(1);
  });

  it('has no more processes and sessions than its hosts hold, the first session of new code among them', async () => {
    const { connect, path } = open({ hosts: 1 });
    const clients = await Promise.all(Array.from({ length: 4 }, () => connect({ kind: 'run' })));
    const waiting = connect({ kind: 'run' });
    expect(new Set(await Promise.all(clients.map(pidOf))).size).toBe(1);
    await until(() => processesNamed(path).length === 1);
    await clients[0]?.close();
    expect(await pidOf(await waiting)).toBe(processesNamed(path)[0]);
  });

  it.each([1, 4])('runs initialize hooks of first sessions at once where %d share a process', async (share) => {
    const gate = join(createLab(SOURCE).directory, 'gate');
    const hook = `appendFileSync(${JSON.stringify(gate)}, '.'); while (readFileSync(${JSON.stringify(gate)}, 'utf8').length < 3) await new Promise((go) => setTimeout(go, 20)); throw new Error('no desk');`;
    const source = `import { appendFileSync, readFileSync } from 'node:fs';\n${SOURCE}`
      .replace('sessionsPerProcess: 4', `sessionsPerProcess: ${share}`)
      .replace('let calls', `env.initialize(async () => { ${hook} });\n  let calls`);
    const { connect } = open({ source });
    // No hook ends before three have begun.
    const refused = await Promise.all([1, 2, 3].map(() => connect().catch((error: unknown) => error)));
    for (const error of refused) expect(error).toMatchObject({ code: 'environment_failed' });
  });

  it('counts the wait for code that tells how many share a process towards the limit of a chat session', async () => {
    const gate = join(createLab(SOURCE).directory, 'gate');
    const waits = `import { existsSync } from 'node:fs';\nwhile (!existsSync(${JSON.stringify(gate)})) await new Promise((go) => setTimeout(go, 20));\n`;
    const { connect, pool } = open({ source: waits + SOURCE, startTimeoutMs: 300 });
    const run = connect({ kind: 'run' });
    const refused = await Promise.all([1, 2].map(() => connect().catch((error: unknown) => error)));
    for (const error of refused) expect(error).toMatchObject({ code: 'capacity_exceeded' });
    expect(pool.starts.waiting).toBe(1);
    await writeFile(gate, '');
    expect(await pidOf(await run)).toBeGreaterThan(0);
  });

  it('goes on to find the number when the session that came first goes away', async () => {
    const { connect } = open({ hosts: 1 });
    const leaving = new AbortController();
    const gone = expect(connect({ signal: leaving.signal })).rejects.toThrow('gone');
    const other = connect();
    leaving.abort(new Error('gone'));
    await gone;
    expect(await ask(await other, 'count')).toBe(1);
  });

  it('gives a session a process of its own that asks for one', async () => {
    const { connect } = open();
    const [first, second] = [await connect(), await connect()];
    const alone = await connect({ isAlone: true });
    expect(await pidOf(second)).toBe(await pidOf(first));
    expect(await pidOf(alone)).not.toBe(await pidOf(first));
  });

  it('counts the process by which a catalogue reads an environment among those that are being started', async () => {
    const gate = join(createLab(SOURCE).directory, 'gate');
    const waits = `import { existsSync } from 'node:fs';\nwhile (!existsSync(${JSON.stringify(gate)})) await new Promise((go) => setTimeout(go, 20));\n`;
    const { pool, target } = open({ source: waits + SOURCE });
    const catalogue = createCatalogue(new Map([['lab', target]]), { connect: (each, how) => pool.read(each, how) });
    onTestFinished(() => catalogue.close());
    const scenarios = catalogue.scenarios('lab');
    await until(() => pool.starts.starting === 1);
    await writeFile(gate, '');
    expect(await scenarios).toEqual([]);
    expect(pool.starts.starting).toBe(0);
  });

  it('starts no more processes at a time for sessions that are to be alone than there is memory for', async () => {
    const { connect, pool } = open({ maxAlone: 1 });
    const first = await connect({ isAlone: true });
    const leaving = new AbortController();
    const gone = expect(connect({ isAlone: true, signal: leaving.signal })).rejects.toThrow('gone');
    const second = connect({ isAlone: true });
    await until(() => pool.starts.waiting === 2);
    leaving.abort(new Error('gone'));
    await gone;
    expect(pool.starts).toMatchObject({ active: 1, starting: 0, waiting: 1 });
    await first.close();
    expect(await pidOf(await second)).toBeGreaterThan(0);
  });

  it('keeps to the number of the configuration, and starts no process for a session that shares one', async () => {
    const { connect, pool, target } = open({ limits: { sessionsPerProcess: 2 }, perEnvironment: 2 });
    const [first, second] = await Promise.all([connect(), connect()]);
    expect(await pidOf(first)).toBe(await pidOf(second));
    expect(pool.figures(target)).toMatchObject({ sessions: 0, spares: 0, hosts: [{ sessions: 2 }] });
  });

  it('keeps no process waiting whose sessions share one', async () => {
    const { connect, pool, target, path } = open({ perEnvironment: 2 });
    pool.warm(target);
    const clients = [await connect(), await connect(), await connect({ isAlone: true })];
    const pids = await Promise.all(clients.map(pidOf));
    await until(() => expect(processesNamed(path).toSorted()).toEqual([...new Set(pids)].toSorted()));
    expect(pool.figures(target)).toMatchObject({ sessions: 1, spares: 0, hosts: [{ sessions: 2 }] });
  });

  it('keeps processes waiting whose sessions share none', async () => {
    const { pool, target } = open({ perEnvironment: 2, source: SOURCE.replace('sessionsPerProcess: 4', '') });
    pool.warm(target);
    await until(() => pool.ready(target) === 2);
  });

  it('gives each session its own process where one holds one session', async () => {
    const { connect, pool, target } = open({ limits: { sessionsPerProcess: 1 } });
    const clients = await Promise.all([connect(), connect()]);
    expect(new Set(await Promise.all(clients.map(pidOf))).size).toBe(2);
    expect(pool.figures(target)).toMatchObject({ sessions: 2, hosts: [] });
    await clients[0]?.close();
    await until(() => pool.figures(target).sessions === 1);
  });

  it('tells each session of a dead process so, and gives the next one a new process', async () => {
    const { connect } = open({ limits: { sessionsPerProcess: 4 } });
    const [guilty, neighbour] = await Promise.all([connect(), connect()]);
    const waiting = expect(neighbour.call('wait', {})).rejects.toMatchObject({ code: 'environment_failed' });
    await expect(guilty.call('exit', {})).rejects.toMatchObject({ code: 'environment_failed' });
    await waiting;
    expect(await neighbour.lost).toMatchObject({ boundary: 'environment' });
    expect(await ask(await connect(), 'count')).toBe(1);
  });

  it('gives sessions of changed code a new process, while those of old code go on', async () => {
    const { connect, path } = open({ limits: { sessionsPerProcess: 4 } });
    const old = await connect();
    await writeFile(path, SOURCE.replace('++calls', '++calls * 10'));
    const current = await connect();
    expect([await ask(old, 'count'), await ask(current, 'count')]).toEqual([1, 10]);
  });

  it('opens sessions while the initialize hooks of many others hang', async () => {
    const hook = 'if (++opened <= 20) await new Promise<void>(() => {});';
    const source = SOURCE.replace('let calls', `env.initialize(async () => { ${hook} });\n  let calls`).replace(
      'export default',
      'let opened = 0;\nexport default',
    );
    const { connect } = open({ source, limits: { sessionsPerProcess: 40 } });
    const leaving = Array.from({ length: 20 }, () => new AbortController());
    const hanging = leaving.map(({ signal }) => connect({ signal }).catch(() => 'gone'));
    expect(await ask(await connect(), 'count')).toBe(1);
    for (const each of leaving) each.abort(new Error('gone'));
    expect(await Promise.all(hanging)).toEqual(Array(20).fill('gone'));
  });

  it('refuses to share an instance, and says what to change', async () => {
    const source = `import { EnvironmentServer } from 'proctor';\nexport default new EnvironmentServer({ name: 'lab' });\n`;
    const { connect } = open({ source, limits: { sessionsPerProcess: 2 } });
    await expect(connect()).rejects.toMatchObject({ boundary: 'environment', code: 'environment_failed' });
    await expect(connect()).rejects.toThrow(/exports an instance.*sessionsPerProcess/s);
  });

  it.each(['the code', 'the configuration'])('lists an instance that %s wants to share as failed', async (whose) => {
    const isCode = whose === 'the code';
    const source = `import { EnvironmentServer } from 'proctor';\nexport default new EnvironmentServer({ name: 'lab'${isCode ? ', sessionsPerProcess: 2' : ''} });\n`;
    const { connect, pool, target } = open({ source, ...(isCode ? {} : { limits: { sessionsPerProcess: 2 } }) });
    const catalogue = createCatalogue(new Map([['lab', target]]), { connect: (each, how) => pool.read(each, how) });
    onTestFinished(() => catalogue.close());
    expect(await catalogue.list()).toMatchObject([
      { state: 'failed', reason: expect.stringMatching(/exports an instance.*sessionsPerProcess is 2/s) },
    ]);
    // The first session of new code among them.
    for (let count = 0; count < 2; count += 1) await expect(connect()).rejects.toThrow(/exports an instance/);
  });

  it('refuses a chat session that has waited too long for a place, with the numbers, and lets a run wait on', async () => {
    const { connect } = open({ limits: { sessionsPerProcess: 2 }, startTimeoutMs: 50 });
    // As runs, since they may wait for the start themselves.
    const [first] = await Promise.all([connect({ kind: 'run' }), connect({ kind: 'run' })]);
    const run = connect({ kind: 'run' });
    const refused = await connect().catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'capacity_exceeded', headers: { 'retry-after': expect.any(String) } });
    expect(String(refused)).toMatch(/1 active, 0 starting \(limit \d+\), 2 waiting/);
    await first?.close();
    expect(await pidOf(await run)).toBeGreaterThan(0);
  });
});
