import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isRunning } from '../../environment/client/processes.ts';
import { freePort } from '../../free-port.ts';
import { until } from '../../until.ts';
import { PATIENCE, proctor, start } from '../command.ts';
import { environmentsOf } from '../processes.ts';
import { counting, detailOf, evaluate, projectWith, tracesOf } from './project.ts';

/** Leases of a process that was killed run out after half a minute. */
const LONG = { timeout: 150_000 } as const;

/** Tasks that take a moment each, or wait for a file. */
function slow(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    ...{ id: `s${index}`, env: 'counter', scenario: 'slow_count', args: { target: 1, delay_ms: 300 } },
  }));
}

function waiting(cwd: string) {
  return (name: string) => ({ id: name, env: 'gate', scenario: 'pass', args: { file: join(cwd, name) } });
}

/** Each attempt has one trace, and it ended well. */
async function expectEachOnce(cwd: string, count: number): Promise<void> {
  const traces = await tracesOf(cwd);
  expect(traces.filter(({ status }) => status !== 'completed')).toEqual([]);
  expect(new Set(traces.map(({ key }) => key)).size).toBe(count);
  expect(traces).toHaveLength(count);
}

describe('a proctor eval that is interrupted', LONG, () => {
  it('is finished by the same command after kill -9: no attempt twice, none lost', async () => {
    const { file, ...project } = projectWith(slow(40), 'counter');
    const command = ['eval', file, '--model', 'proctor/oracle', '--concurrency', '4'];
    for (const least of [5, 15]) {
      const killed = start(command, project);
      await until(async () => (await completed(project.cwd)).length >= least, { withinMs: 50_000 });
      killed.process.kill('SIGKILL');
      await killed.ended;
    }
    const before = await completed(project.cwd);
    const last = await evaluate([...command.slice(1), '--json'], project);
    expect([last.code, detailOf(last).progress]).toMatchObject([0, { done: 40, total: 40, reruns: 0 }]);
    expect(last.stderr).toMatch(/^Going on with eval_[0-9a-f]{32}: \d+ of 40 attempts are done\.$/m);
    await expectEachOnce(project.cwd, 40);
    // Those that had ended were not touched.
    const after = new Map((await tracesOf(project.cwd)).map((trace) => [trace.trace_id, trace]));
    for (const trace of before) expect(after.get(trace.trace_id)).toEqual(trace);
  });

  it('is shared by two commands that go on with it at once', async () => {
    const { file, ...project } = projectWith(slow(30), 'counter');
    const command = [file, '--model', 'proctor/oracle', '--concurrency', '6', '--json'];
    const begun = start(['eval', ...command], project);
    await until(async () => (await completed(project.cwd)).length >= 2, { withinMs: 50_000 });
    begun.process.kill('SIGKILL');
    await begun.ended;
    const [one, other] = await Promise.all([evaluate(command, project), evaluate(command, project)]);
    expect([one.code, other.code]).toEqual([0, 0]);
    expect(detailOf(one).evaluation_id).toBe(detailOf(other).evaluation_id);
    await expectEachOnce(project.cwd, 30);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    '%s pauses it, gives its runs back, leaves no process, and ends with 1; the same command goes on',
    async (signal) => {
      const { file, ...project } = projectWith([], 'gate');
      const task = waiting(project.cwd);
      writeFileSync(join(project.cwd, file), `${JSON.stringify(task('a'))}\n${JSON.stringify(task('b'))}\n`);
      writeFileSync(join(project.cwd, 'a'), '');
      const command = ['eval', file, '--model', 'proctor/oracle'];
      const running = start(command, project);
      await until(async () => (await completed(project.cwd)).length === 1, { withinMs: 50_000 });
      await running.prints(/^1 of 2 attempts/m);
      const children = environmentsOf(running.process.pid);
      running.process.kill(signal);
      const { code, stdout, stderr } = await running.ended;
      expect([code, stdout]).toEqual([1, expect.stringMatching(/: paused, 1 of 2 attempts\n/)]);
      expect(stderr).toMatch(/It is paused, 1 of 2 attempts are done; the same command goes on with it/);
      expect(children.filter(isRunning)).toEqual([]);
      // Nothing of it waits for a lease that runs out.
      writeFileSync(join(project.cwd, 'b'), '');
      const again = await proctor([...command, '--json'], project);
      expect([again.code, detailOf(again).progress]).toMatchObject([0, { done: 2 }]);
      await expectEachOnce(project.cwd, 2);
    },
  );

  it('spends nothing more while a service is open: what waits stays in the queue, and the process that plays on is named', async () => {
    const { project, command, files, service } = await sharedWithService();
    const running = start(command, project);
    await untilRunning(project.cwd, 2);
    running.process.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(1);
    const told = new RegExp(`Process ${service.process.pid} still plays 1 attempt .*: "npx proctor eval cancel eval_`);
    expect(stderr).toMatch(told);
    for (const name of files) writeFileSync(join(project.cwd, name), '');
    await until(async () => (await completed(project.cwd)).length === 1);
    // The service is not at rest: it plays another evaluation meanwhile.
    const other = [command[1] ?? '', '--model', 'proctor/oracle', '--name', 'other', '--no-wait', '-q'];
    expect((await evaluate(other, project)).code).toBe(0);
    await until(async () => (await completed(project.cwd)).length === 1 + files.length);
    const again = await proctor([...command, '--json'], project);
    expect([again.code, detailOf(again).progress]).toMatchObject([0, { done: files.length, reruns: 0 }]);
    await until(async () => (await completed(project.cwd)).length === 2 * files.length);
  });

  it('is left to a service with --detach, which says how that is stopped', async () => {
    const { project, command, files, service } = await sharedWithService();
    const running = start([...command, '--detach'], project);
    await untilRunning(project.cwd, 2);
    running.process.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(1);
    const told = new RegExp(
      `Process ${service.process.pid} goes on with it, 1 attempt now: "npx proctor eval pause eval_`,
    );
    expect(stderr).toMatch(told);
    for (const name of files) writeFileSync(join(project.cwd, name), '');
    await until(async () => (await completed(project.cwd)).length === files.length);
  });

  it('is paused also where a second Ctrl-C ends the command at once', async () => {
    const { file, ...project } = projectWith([], 'gate');
    writeFileSync(join(project.cwd, file), `${JSON.stringify(waiting(project.cwd)('a'))}\n`);
    const running = start(['eval', file, '--model', 'proctor/oracle'], project);
    await untilRunning(project.cwd, 1);
    const pressing = setInterval(() => running.process.kill('SIGINT'), 100);
    const { code } = await running.ended.finally(() => clearInterval(pressing));
    expect(code).not.toBe(0);
    const shown = await evaluate(['show', 'last', '--json'], project);
    expect(detailOf(shown).status).toBe('paused');
  });

  it('is paused, resumed and cancelled from another terminal', async () => {
    const { file, ...project } = projectWith([], 'gate');
    const task = waiting(project.cwd);
    writeFileSync(join(project.cwd, file), ['a', 'b', 'c'].map((name) => `${JSON.stringify(task(name))}\n`).join(''));
    const running = start(['eval', file, '--model', 'proctor/oracle', '--concurrency', '1', '--json'], project);
    await until(async () => (await tracesOf(project.cwd)).some(({ status }) => status === 'running'), {
      withinMs: 50_000,
    });
    const paused = await evaluate(['pause', 'last'], project);
    expect([paused.code, paused.stdout]).toEqual([
      0,
      expect.stringMatching(/^eval_\S+ is paused: 0 of 3 attempts are done, 1 running\n$/),
    ]);
    const gate = await evaluate(['gate', 'last'], project);
    expect(gate.code).toBe(2);
    for (const name of ['a', 'b']) writeFileSync(join(project.cwd, name), '');
    await until(async () => (await completed(project.cwd)).length === 1);
    expect(await tracesOf(project.cwd)).toHaveLength(1);
    expect((await evaluate(['resume', 'last', '--no-wait', '-q'], project)).code).toBe(0);
    await until(async () => (await completed(project.cwd)).length === 2);
    const cancelled = await evaluate(['cancel', 'last'], project);
    expect([cancelled.code, cancelled.stdout]).toEqual([0, expect.stringContaining('is cancelled')]);
    const { code, ...ended } = await running.ended;
    expect([code, detailOf({ code, ...ended }).status]).toEqual([1, 'cancelled']);
    const again = await evaluate(['cancel', 'last'], project);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('cancelled')]);
  });
});

describe('the work of proctor eval', PATIENCE, () => {
  it('is left to others with --no-wait, and "proctor eval resume" does it here', async () => {
    const { file, ...project } = projectWith(counting(1, 2, 3), 'counter');
    const begun = await evaluate([file, '--model', 'proctor/oracle', '--no-wait', '--json'], project);
    expect([begun.code, detailOf(begun).status]).toEqual([0, 'running']);
    expect((await completed(project.cwd)).length).toBe(0);
    const resumed = await evaluate(['resume', 'last', '--json'], project);
    expect([resumed.code, detailOf(resumed).progress]).toMatchObject([0, { done: 3 }]);
  });
});

/** A service that plays one run at a time and has one attempt of an evaluation in hand; the command goes on with it. */
async function sharedWithService() {
  const { file, ...project } = projectWith([], 'gate');
  const files = ['a', 'b', 'c', 'd'];
  const tasks = files.map(waiting(project.cwd));
  writeFileSync(join(project.cwd, file), tasks.map((task) => `${JSON.stringify(task)}\n`).join(''));
  const command = ['eval', file, '--model', 'proctor/oracle'];
  const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
  const service = start(['serve', ...ports, '--concurrency', '1', '--json'], project);
  await service.prints(/^\{.*\}$/m);
  expect((await proctor([...command, '--no-wait', '-q'], project)).code).toBe(0);
  await untilRunning(project.cwd, 1);
  return { project, command, files, service };
}

async function untilRunning(cwd: string, count: number): Promise<void> {
  const running = async () => (await tracesOf(cwd)).filter(({ status }) => status === 'running').length;
  await until(async () => (await running()) >= count, { withinMs: 50_000 });
}

async function completed(cwd: string) {
  return (await tracesOf(cwd)).filter(({ status }) => status === 'completed');
}
