import { readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { until } from '../until.ts';
import { createDeployment, type Deployment, temporaryDirectory } from './deployment.ts';
import { IS_FULL, SIDE_BY_SIDE } from './form.ts';
import { answersOf, copyHosted, fillHost, gateIn, play, untilAnswered } from './hosted.ts';
import type { Ending } from './nothing-lost.ts';
import { untilEvent } from './progress.ts';

const RUNS = IS_FULL ? { killed: 200, exit: 100, changed: 100 } : { killed: 30, exit: 30, changed: 10 };
const LEAKS = IS_FULL ? 100 : 45;
const MEMORY_MIB = 256;
const SETTLED_WITHIN_MS = 160_000 * (IS_FULL ? 5 : 1);
const ENDS_WITHIN_MS = 40_000;

const completed = (attempts: number): Ending => ({ status: 'completed', attempts, error: null });
/** All sessions fit into one process. */
const ONE_HOST = { HOSTS: '1', CONCURRENCY: '250' };

/** How the first attempt of a run was lost. */
async function lossOf({ store }: Deployment, traceId: string): Promise<string> {
  const [first] = (await store.trace(traceId))?.attempts ?? [];
  expect(first).toMatchObject({ end: 'lost', error: { boundary: 'environment', code: 'environment_failed' } });
  return first?.error?.message ?? '';
}

/** Each has lost an attempt with that host, and played the next one alone in a process. */
async function expectAlone(deployment: Deployment, ids: readonly string[], host: number): Promise<void> {
  const answers = await Promise.all(ids.map((id) => answersOf(deployment.store, id, 2)));
  const pids = answers.map((each) => new Set(each.map(({ pid }) => pid)));
  expect(pids.map(({ size }) => size)).toEqual(ids.map(() => 1));
  expect(new Set([host, ...pids.flatMap((each) => [...each])]).size).toBe(1 + ids.length);
}

/** Asks whether the server is healthy until that is over. @returns the answers, and milliseconds of the slowest. */
async function askHealth(deployment: Deployment, port: number, over: AbortSignal) {
  const statuses = new Set<number>();
  let slowestMs = 0;
  for (let asked = 1; ; asked += 1) {
    const askedAt = performance.now();
    statuses.add((await deployment.request(port, '/healthz')).status);
    slowestMs = Math.max(slowestMs, performance.now() - askedAt);
    if (over.aborted) return { statuses: [...statuses], asked, slowestMs: Math.round(slowestMs) };
    await sleep(50);
  }
}

describe('a host', SIDE_BY_SIDE, () => {
  test(`that is killed costs each of its ${RUNS.killed} runs one attempt, and each plays the next one alone`, async (context) => {
    const deployment = await createDeployment(context, { fault: 'host killed', variables: ONE_HOST });
    const { port } = await deployment.start('both');
    const gate = gateIn(deployment.directory, 'gate');
    const bodies = Array.from({ length: RUNS.killed }, () => play(['who'], gate.call));
    const { pid, ids, accepted } = await fillHost(deployment, port, bodies);
    process.kill(pid, 'SIGKILL');
    gate.open();
    const ends = await deployment.settle(accepted, SETTLED_WITHIN_MS);
    expect(ids.map((id) => ends.get(id))).toEqual(ids.map(() => completed(2)));
    await expectAlone(deployment, ids, pid);
    for (const id of ids) expect(await lossOf(deployment, id)).toContain('was ended by the signal SIGKILL');
  });

  test(`that one of ${RUNS.exit} runs exits costs the others one attempt, and fails that run alone`, async (context) => {
    const deployment = await createDeployment(context, { fault: 'host exited by a run', variables: ONE_HOST });
    const { port } = await deployment.start('both');
    const [exit, gate] = [gateIn(deployment.directory, 'exit'), gateIn(deployment.directory, 'gate')];
    const neighbours = Array.from({ length: RUNS.exit - 1 }, () => play(['who'], gate.call));
    const bodies = [play(['who'], exit.call, ['exit']), ...neighbours];
    const { pid, ids, accepted } = await fillHost(deployment, port, bodies);
    const [guilty = '', ...others] = ids;
    exit.open();
    await untilEvent(deployment, guilty, 'run.finished', 2);
    gate.open();
    const ends = await deployment.settle(accepted, SETTLED_WITHIN_MS);
    expect(others.map((id) => ends.get(id))).toEqual(others.map(() => completed(2)));
    await expectAlone(deployment, ids, pid);
    expect(ends.get(guilty)).toMatchObject({ status: 'failed', attempts: 2, error: { boundary: 'environment' } });
    expect(await lossOf(deployment, guilty)).toContain('process.exit(7)');
    for (const id of others) expect(await lossOf(deployment, id)).toContain('by the code of another session');
  });

  test('that one run blocks is killed, and the server and the other runs go on', async (context) => {
    const deployment = await createDeployment(context, { fault: 'host blocked', variables: ONE_HOST });
    const { port } = await deployment.start('both');
    const { directory } = deployment;
    const [block, gate] = [gateIn(directory, 'block'), gateIn(directory, 'gate')];
    const neighbours = Array.from({ length: 9 }, () => play(['who'], gate.call));
    // It blocks until the file is there, which is never while others share its process.
    const bodies = [play(['who'], block.call, ['block', { file: join(directory, 'alone') }]), ...neighbours];
    const { pid, ids, accepted } = await fillHost(deployment, port, bodies);
    const [guilty = '', ...others] = ids;
    const over = new AbortController();
    const health = askHealth(deployment, port, over.signal);
    health.catch(() => {}); // Awaited below, unless something fails before.
    block.open();
    for (const id of others) await untilEvent(deployment, id, 'tool.called', 2);
    writeFileSync(join(directory, 'alone'), '');
    gate.open();
    for (const id of others) await untilEvent(deployment, id, 'run.finished', 2);
    over.abort();
    const { statuses, asked, slowestMs } = await health;
    context.annotate(`${asked} answers of /healthz, the slowest after ${slowestMs} ms`);
    expect(statuses).toEqual([200]);
    const ends = await deployment.settle(accepted, SETTLED_WITHIN_MS);
    expect(ids.map((id) => ends.get(id))).toEqual(ids.map(() => completed(2)));
    await expectAlone(deployment, ids, pid);
    for (const id of [guilty, ...others]) {
      expect(await lossOf(deployment, id)).toMatch(/was killed: its event loop was blocked for \d\d s/);
    }
  });

  test(`that keeps 10 MiB of each of ${LEAKS} runs is replaced before they lose an attempt`, async (context) => {
    const variables = { HOSTS: '1', CONCURRENCY: '2', HOSTED_MEMORY_MIB: String(2 * MEMORY_MIB) };
    const deployment = await createDeployment(context, { fault: 'host leaks', variables });
    const { port } = await deployment.start('both');
    // Slow enough that the host is told from the one that leaks past its limit between two looks.
    const body = play(['leak', { mib: 10 }], ['wait', { ms: 1_500 }]);
    const ids = await Promise.all(Array.from({ length: LEAKS }, () => deployment.run(port, body)));
    const ends = await deployment.settle(ids, SETTLED_WITHIN_MS);
    expect([...ends.values()]).toEqual(ids.map(() => completed(1)));
    const pids = await Promise.all(ids.map((id) => untilAnswered(deployment.store, id, 1)));
    // All share a host, the first one too.
    expect(new Set(pids).size).toBeGreaterThan(1);
  });

  test('that takes more memory than it may have is killed, with the figure, and names no run as guilty', async (context) => {
    const variables = { ...ONE_HOST, HOSTED_MEMORY_MIB: String(MEMORY_MIB) };
    const deployment = await createDeployment(context, { fault: 'host out of memory', variables });
    const { port } = await deployment.start('both');
    const [leak, gate] = [gateIn(deployment.directory, 'leak'), gateIn(deployment.directory, 'gate')];
    const greedy = play(['who'], leak.call, ['leak', { mib: 2 * MEMORY_MIB }], ['wait', { ms: 600_000 }]);
    const bodies = [greedy, ...Array.from({ length: 9 }, () => play(['who'], gate.call))];
    const { pid, ids, accepted } = await fillHost(deployment, port, bodies);
    const [guilty = '', ...others] = ids;
    leak.open();
    await untilEvent(deployment, guilty, 'run.finished', 2);
    gate.open();
    const ends = await deployment.settle(accepted, SETTLED_WITHIN_MS);
    expect(others.map((id) => ends.get(id))).toEqual(others.map(() => completed(2)));
    await expectAlone(deployment, others, pid);
    expect(ends.get(guilty)).toMatchObject({ status: 'failed', attempts: 2, error: { boundary: 'environment' } });
    const messages = await Promise.all(ids.map((id) => lossOf(deployment, id)));
    for (const message of messages) {
      expect(message).toMatch(new RegExp(`more than its limit of ${MEMORY_MIB} MiB( of memory)?, and was killed`));
      expect(message).not.toMatch(/session/);
    }
  });

  test(`whose code changes goes on for its ${RUNS.changed} runs, and ends with the last one`, async (context) => {
    const directory = temporaryDirectory(context.onTestFinished);
    const { path, change } = copyHosted(directory);
    const variables = { ...ONE_HOST, HOSTED_MODULE: path };
    const deployment = await createDeployment(context, { fault: 'code of a host changed', variables, directory });
    const { port } = await deployment.start('both');
    const gate = gateIn(deployment.directory, 'gate');
    const bodies = Array.from({ length: RUNS.changed }, () => play(['who'], gate.call, ['who']));
    const { pid, ids, accepted } = await fillHost(deployment, port, bodies);
    change('v1', 'v2');
    // The first of them tells how many share a process of the new code.
    const later: string[] = [];
    for (let run = 0; run < 3; run += 1) {
      const id = await deployment.run(port, play(['who'], ['who']));
      await untilEvent(deployment, id, 'run.finished', 1);
      later.push(id);
    }
    expect(deployment.environments()).toContain(pid);
    gate.open();
    for (const id of ids) await untilEvent(deployment, id, 'run.finished', 1);
    await until(() => expect(deployment.environments()).not.toContain(pid), { withinMs: ENDS_WITHIN_MS });
    const ends = await deployment.settle([...accepted, ...later], SETTLED_WITHIN_MS);
    expect([...ends.values()]).toEqual([...accepted, ...later].map(() => completed(1)));
    for (const id of ids) {
      expect(await answersOf(deployment.store, id, 1)).toEqual(Array(3).fill({ version: 'v1', pid }));
    }
    const answers = (await Promise.all(later.map((id) => answersOf(deployment.store, id, 1)))).flat();
    expect(new Set(answers.map(({ version }) => version))).toEqual(new Set(['v2']));
  });

  test('whose service is killed ends with it, and its runs go on elsewhere', async (context) => {
    const deployment = await createDeployment(context, { fault: 'service of hosts killed', variables: ONE_HOST });
    const one = await deployment.start('both');
    const gate = gateIn(deployment.directory, 'gate');
    const bodies = Array.from({ length: RUNS.exit }, () => play(['who'], gate.call));
    const { pid, ids, accepted } = await fillHost(deployment, one.port, bodies);
    await deployment.kill(one);
    await until(() => expect(deployment.environments()).not.toContain(pid), { withinMs: ENDS_WITHIN_MS });
    await deployment.start('both');
    const sockets = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`proctor-host-${one.pid}_`));
    await until(() => expect(sockets()).toEqual([]), { withinMs: ENDS_WITHIN_MS });
    gate.open();
    const ends = await deployment.settle(accepted, SETTLED_WITHIN_MS);
    expect(ids.map((id) => ends.get(id))).toEqual(ids.map(() => completed(2)));
  });
});
