import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { ApiError } from '../../src/contract/errors.ts';
import { traceSchema } from '../../src/contract/service/trace.ts';
import { isRunning } from '../environment/client/processes.ts';
import { freePort } from '../free-port.ts';
import { openParts, startService } from '../service/runs/service.ts';
import { until } from '../until.ts';
import { createProject, PATIENCE, proctor, start } from './command.ts';
import { environmentsOf } from './processes.ts';

const resultSchema = z.object({
  passed: z.boolean().nullable(),
  n: z.int(),
  with_reward: z.int(),
  completed: z.int(),
  failed: z.int(),
  cancelled: z.int(),
  not_started: z.int(),
  mean_reward: z.number().nullable(),
  stderr: z.number().nullable(),
  ci95: z.tuple([z.number(), z.number()]).nullable(),
  runs: z.array(
    traceSchema.pick({
      trace_id: true,
      trace_url: true,
      status: true,
      stop_reason: true,
      reward: true,
      answer: true,
      error: true,
    }),
  ),
});

/** The database of a project that a command has worked in. */
async function partsOf(cwd: string) {
  return openParts(`sqlite:${join(cwd, '.proctor', 'proctor.db')}`, onTestFinished);
}

async function tracesOf(cwd: string) {
  const { store } = await partsOf(cwd);
  return (await store.list({})).data;
}

describe('proctor run', PATIENCE, () => {
  it('prints the reward on standard output, and steps and the address of the trace beside it', async () => {
    const cwd = createProject('counter');
    const { code, stdout, stderr } = await proctor(['run', 'counter', 'count_to', '--arg', 'target=3'], { cwd });
    expect([code, stdout]).toEqual([0, 'reward 1\n']);
    const [trace] = await tracesOf(cwd);
    expect(stderr).toContain('prompt Make the counter show exactly 3');
    expect(stderr).toContain('step 1 increment {"by":3}');
    expect(stderr).toContain(`reward 1  http://127.0.0.1:8320/traces/${trace?.trace_id}`);
    expect(stderr).not.toContain('\u001b');
    expect(trace).toMatchObject({ status: 'completed', origin: 'run', scenario_args: { target: 3 } });
  });

  it('-n plays several runs and prints their mean with its interval; listeners do not pile up', async () => {
    const cwd = createProject('counter');
    const args = ['run', 'counter', 'count_to', '--arg', 'target=1', '-n', '12', '--concurrency', '12', '--quiet'];
    const { code, stdout, stderr } = await proctor(args, { cwd });
    expect([code, stdout]).toEqual([0, 'mean reward 1.00 [0.76, 1.00] (95 % interval); 12 of 12 runs have a reward\n']);
    expect(stderr).not.toMatch(/Warning/);
    expect(stderr).not.toContain('prompt');
    expect(stderr.match(/^#\d+ reward 1 {2}http/gm)).toHaveLength(12);
  });

  it('says the 95 % interval of the mean, and which runs have no reward, in one line and in --json', async () => {
    const cwd = createProject('probe');
    const play = (list: string, ...more: string[]) => {
      const args = ['--arg', `log=${join(cwd, `log-${list.length}-${more.length}`)}`, '--arg', `list=${list}`];
      const model = ['--model', 'proctor/noop', '--concurrency', '1', '--quiet'];
      return proctor(['run', 'probe', 'rewards', ...args, ...model, ...more], { cwd });
    };
    const [mixed, json, one, none] = await Promise.all([
      play('[0,1,null,0,1]', '-n', '5'),
      play('[0,1,null,0,1]', '-n', '5', '--json', '--min-reward', '0.5'),
      play('[1,null]', '-n', '2'),
      play('[null,null,null]', '-n', '3'),
    ]);
    const expected = 'mean reward 0.50 [0.15, 0.85] (95 % interval); 4 of 5 runs have a reward: 1 failed\n';
    expect([mixed.code, mixed.stdout]).toEqual([1, expected]);
    expect(resultSchema.parse(JSON.parse(json.stdout))).toMatchObject({
      passed: false,
      ...{ n: 5, with_reward: 4, completed: 4, failed: 1, cancelled: 0, not_started: 0 },
      mean_reward: 0.5,
      stderr: expect.closeTo(0.288675, 6),
      ci95: [expect.closeTo(0.150036, 5), expect.closeTo(0.849964, 5)],
    });
    expect([one.code, one.stdout]).toEqual([
      1,
      'mean reward 1.00 (no interval); 1 of 2 runs have a reward: 1 failed\n',
    ]);
    expect([none.code, none.stdout]).toEqual([1, 'no mean reward; 0 of 3 runs have a reward: 3 failed\n']);
  });

  it('--json prints one object and nothing else, with the runs in the order of their seeds', async () => {
    const cwd = createProject('counter');
    const args = ['run', 'counter', 'count_to', '--arg', 'target=0', '-n', '3', '--model', 'proctor/random'];
    const { code, stdout } = await proctor([...args, '--seed', '5', '--max-steps', '2', '--json'], { cwd });
    const result = resultSchema.parse(JSON.parse(stdout));
    expect(stdout.trim()).not.toContain('\n');
    expect([code, result.passed, result.completed, result.with_reward]).toEqual([0, null, 3, 3]);
    const { store } = await partsOf(cwd);
    const traces = await Promise.all(result.runs.map(({ trace_id }) => store.trace(trace_id)));
    expect(traces.map((trace) => [trace?.seed, trace?.max_steps])).toEqual([
      [5, 2],
      [6, 2],
      [7, 2],
    ]);
  });

  it('ends with 1 and a clear line when the mean reward is below --min-reward', async () => {
    const cwd = createProject('counter');
    const args = ['run', 'counter', 'count_to', '--arg', 'target=3', '--model', 'proctor/noop', '--min-reward', '0.9'];
    const { code, stdout, stderr } = await proctor(args, { cwd });
    expect([code, stdout]).toEqual([1, 'reward 0\n']);
    expect(stderr.trimEnd().split('\n').at(-1)).toBe('The mean reward 0.00 is below --min-reward 0.9.');
    const json = await proctor([...args, '--json'], { cwd });
    expect([json.code, resultSchema.parse(JSON.parse(json.stdout)).passed]).toEqual([1, false]);
  });

  it('ends with 1 and says why when a scenario fails in its setup', async () => {
    const cwd = createProject('probe');
    const { code, stdout, stderr } = await proctor(['run', 'probe', 'throws_in_setup'], { cwd });
    expect([code, stdout]).toEqual([1, 'no reward: the run failed\n']);
    expect(stderr).toMatch(/failed at setup: .*the fixture is missing/);
    expect(stderr).toContain('1 of 1 runs did not complete.');
    expect(await tracesOf(cwd)).toMatchObject([{ status: 'failed', error: { boundary: 'setup' } }]);
  });

  it('takes the path of a module, and text where the scenario takes text', async () => {
    const cwd = createProject('probe');
    const args = ['run', './environments/probe/environment.ts', 'zip', '--arg', 'zip=19122', '--model', 'proctor/noop'];
    const { code, stderr } = await proctor([...args, '--json'], { cwd });
    expect([code, stderr]).toEqual([0, expect.stringContaining('The code is "19122".')]);
  });

  it('merges --args with --arg, which wins', async () => {
    const cwd = createProject('counter');
    const args = ['--args', '{"target":1,"delay_ms":0}', '--arg', 'target=2', '--timeout', '60'];
    const { code } = await proctor(['run', 'counter', 'slow_count', ...args], { cwd });
    expect(code).toBe(0);
    expect((await tracesOf(cwd))[0]?.scenario_args).toEqual({ target: 2, delay_ms: 0 });
  });

  it('never sends terminal escapes of a model, a tool, an environment or its logs to the terminal', async () => {
    const cwd = createProject('probe');
    const shown = await proctor(['run', 'probe', 'escapes', '--json'], { cwd });
    const failed = await proctor(['run', 'probe', 'throws_in_setup'], { cwd });
    for (const { stdout, stderr } of [shown, failed]) {
      expect(`${stdout}${stderr}`).toContain('desrever');
      expect(`${stdout}${stderr}`).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
    }
    for (const word of ['asked', 'given', 'answered', 'evaluated']) expect(shown.stderr).toContain(`${word} \ufffd[2J`);
    expect(shown.stdout).toContain('answered \\u001b[2J\\u001b]0;owned\\u0007\\u009b31mred\\u202edesrever');
  });
});

describe('a wrong proctor run', PATIENCE, () => {
  const rows: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['an unknown environment', ['nope', 'count_to'], /no environment "nope".*counter/],
    ['an unknown scenario', ['counter', 'nope'], /no scenario "nope".*count_to, slow_count/],
    [
      'an unknown reference model',
      ['counter', 'count_to', '--arg', 'target=1', '--model', 'proctor/nope'],
      /proctor\/nope.*proctor\/oracle/,
    ],
    [
      'a model without a gateway',
      ['counter', 'count_to', '--arg', 'target=1', '--model', 'gpt-5'],
      /PROCTOR_GATEWAY_URL/,
    ],
    [
      'an argument of the wrong type',
      ['counter', 'count_to', '--arg', 'target=many'],
      /scenario_args\.target .*"many"/,
    ],
    ['an argument that is missing', ['counter', 'count_to'], /target/],
    ['an argument that does not exist', ['counter', 'count_to', '--arg', 'target=1', '--arg', 'goal=1'], /goal/],
    ['an environment that is nearly right', ['countr', 'count_to'], /Did you mean "counter"\?/],
    ['a scenario that is nearly right', ['counter', 'count_t'], /Did you mean "count_to"\? Scenarios:/],
    [
      'a model that is nearly right',
      ['counter', 'count_to', '--arg', 'target=1', '--model', 'proctor/oracel'],
      /mean "proctor\/oracle"\?/,
    ],
    ['an argument that is nearly right', ['counter', 'count_to', '--arg', 'targt=1'], /Did you mean "target"\?/],
    ['an option that is nearly right', ['counter', 'count_to', '--modle', 'x'], /Did you mean --model\?/],
    [
      'a missing argument, with its type and an example',
      ['counter', 'slow_count', '--arg', 'target=1'],
      /delay_ms {2}integer from 0 to 60000, required: Millis.*\$ npx proctor run counter slow_count --arg target=1 --arg delay_ms=1/,
    ],
    [
      'a missing argument, with its choices',
      ['probe', 'choice'],
      /size {2}"small" \| "large", required: How big\. {3}note {2}string, default "none" .*--arg size=small/,
    ],
    ['no scenario', ['counter'], /Name a scenario of "counter": {3}count_to: .*--arg target=1 {3}slow_count: /],
    ['a URL without its scheme', ['localhost:8000/mcp', 'x'], /the URL is http:\/\/localhost:8000\/mcp\./],
    ['--service without its scheme', ['counter', 'x', '--service', 'localhost:8320'], /is http:\/\/localhost:8320\./],
    ['--arg without a value', ['counter', 'count_to', '--arg', 'target'], /name=value, not "target"/],
    ['--args that is no JSON', ['counter', 'count_to', '--args', '{target:1}'], /not JSON: \{target:1\}/],
    ['--args that is no object', ['counter', 'count_to', '--args', '[1]'], /JSON object, not \[1\]/],
    ['--max-steps 501', ['counter', 'count_to', '--max-steps', '501'], /'501'.*from 1 to 500/],
    ['-n 0', ['counter', 'count_to', '-n', '0'], /'0'.*from 1 to 10000/],
    ['--min-reward high', ['counter', 'count_to', '--min-reward', 'high'], /'high'.*a number/],
    ['an unknown option', ['counter', 'count_to', '--speed', '9'], /unknown option '--speed'/],
  ];

  it('ends with 2, a message that helps, and no run', async () => {
    const cwd = createProject('counter', 'probe');
    const left = rows.entries();
    const next = async () => {
      for (const [, [what, args, message]] of left) {
        const { code, stdout, stderr } = await proctor(['run', ...args], { cwd });
        expect([what, code, stdout]).toEqual([what, 2, '']);
        expect(stderr.replaceAll('\n', ' ')).toMatch(message);
        expect(stderr).not.toMatch(/^\s+at /m);
      }
    };
    await Promise.all([next(), next(), next()]);
    expect(await tracesOf(cwd)).toEqual([]);
  });
});

describe('a proctor run of which a run is refused', PATIENCE, () => {
  const played = ['run', 'counter', 'count_to', '--arg', 'target=1', '-n', '3', '--concurrency', '1', '--quiet'];

  /** A service that takes so many runs, and a command that plays three there. */
  async function playAt(accepted: number) {
    const service = await startService();
    const create = service.store.create.bind(service.store);
    const creating = vi.spyOn(service.store, 'create').mockImplementation(async (...args) => {
      if (creating.mock.calls.length > accepted) throw new ApiError('invalid_parameter', 'No more runs today.');
      return await create(...args);
    });
    const options = { cwd: createProject(), env: { PROCTOR_API_KEY: service.key } };
    return { creating, ended: await proctor([...played, '--service', service.url], options) };
  }

  it('begins no other after it, and reports those that were played', async () => {
    const { creating, ended } = await playAt(1);
    expect([ended.code, creating.mock.calls.length]).toEqual([1, 2]);
    expect(ended.stderr).toMatch(/^#1 reward 1/m);
    expect(ended.stderr).toContain('No further run was begun: No more runs today.');
    expect(ended.stdout).toMatch(/1 of 3 runs ha/);
  });

  it('ends with the refusal where none was played', async () => {
    const { ended } = await playAt(0);
    expect([ended.code, ended.stdout]).toEqual([2, '']);
    expect(ended.stderr).toContain('No more runs today.');
  });
});

describe('a proctor run that is stopped', PATIENCE, () => {
  const slow = ['run', 'counter', 'slow_count', '--args', '{"target":1,"delay_ms":60000}'];

  it.each(['SIGINT', 'SIGTERM'] as const)('%s cancels the run, leaves no process, and ends with 1', async (signal) => {
    const cwd = createProject('counter');
    const command = start(slow, { cwd });
    await command.prints(/step 1 slow_increment/);
    const children = environmentsOf(command.process.pid);
    expect(children).toHaveLength(1);
    command.process.kill(signal);
    const { code, stdout, stderr } = await command.ended;
    expect([code, stdout]).toEqual([1, 'no reward: the run was cancelled\n']);
    expect(stderr).toContain('Stopping');
    expect(children.filter(isRunning)).toEqual([]);
    const { store, queue } = await partsOf(cwd);
    expect((await store.list({})).data).toMatchObject([
      { status: 'cancelled', stop_reason: 'cancelled', reward: null },
    ]);
    expect(await queue.counts()).toEqual({ waiting: 0, leased: 0 });
  });

  it('runs the shutdown hooks of sessions that share a process, on SIGTERM', async () => {
    const cwd = createProject('probe');
    const log = join(cwd, 'shutdowns');
    const path = join(cwd, 'environments', 'probe');
    const environments = { probe: { path, sessionsPerProcess: 2, env: { SHUTDOWN_LOG: log } } };
    writeFileSync(join(cwd, 'proctor.config.mjs'), `export default ${JSON.stringify({ environments })}`);
    const args = ['run', 'probe', 'waits', '--arg', `path=${join(cwd, 'gate')}`, '-n', '2', '--concurrency', '2'];
    const command = start(args, { cwd });
    await Promise.all([command.prints(/#1 step 1 wait_for/), command.prints(/#2 step 1 wait_for/)]);
    command.process.kill('SIGTERM');
    expect((await command.ended).code).toBe(1);
    const pids = readFileSync(log, 'utf8').trim().split('\n');
    // The process that told the scenarios had no session, and ended before.
    const host = pids.at(-1);
    expect(pids.filter((pid) => pid === host)).toHaveLength(2);
  });

  it('begins no further run, and says how many it did not complete', async () => {
    const cwd = createProject('counter');
    const command = start([...slow, '-n', '5', '--concurrency', '1', '--json'], { cwd });
    await command.prints(/#1 step 1 slow_increment/);
    command.process.kill('SIGINT');
    command.process.kill('SIGINT'); // npm passes on what the terminal has sent already: still one press
    const { code, stdout, stderr } = await command.ended;
    expect(code).toBe(1);
    expect(resultSchema.parse(JSON.parse(stdout))).toMatchObject({
      passed: null,
      ...{ n: 5, with_reward: 0, cancelled: 1, not_started: 4 },
      runs: [{ status: 'cancelled' }],
    });
    expect(stderr).toContain('5 of 5 runs did not complete.');
  });

  it('says that another worker has taken its run over, and follows it there to its end', async () => {
    const cwd = createProject('probe');
    const gate = join(cwd, 'gate');
    const command = start(['run', 'probe', 'waits', '--arg', `path=${gate}`], { cwd });
    await command.prints(/step 1 wait_for/);
    const { database, store } = await partsOf(cwd);
    const held = { leased_by: 'worker_of_another_machine', lease_token: 'its', lease_until: Date.now() + 60_000 };
    await database.kysely.updateTable('queue').set(held).execute();
    await command.prints(/Another worker of this database has taken the run over/);
    writeFileSync(gate, '');
    await database.kysely.updateTable('queue').set({ lease_until: 0 }).execute();
    start(['worker'], { cwd });
    const { code, stderr, stdout } = await command.ended;
    const [trace] = (await store.list({})).data;
    expect(stderr).toContain(`It goes on there: http://127.0.0.1:8320/traces/${trace?.trace_id}`);
    expect(stderr).toContain('attempt 2: the one before was lost');
    expect([code, stdout.trim()]).toEqual([0, 'reward 1']);
  });

  it('is finished by the next proctor serve when it was killed', async () => {
    const cwd = createProject('probe');
    const gate = join(cwd, 'gate');
    const command = start(['run', 'probe', 'waits', '--arg', `path=${gate}`], { cwd });
    await command.prints(/step 1 wait_for/);
    const children = environmentsOf(command.process.pid);
    command.process.kill('SIGKILL');
    await command.ended;
    await until(() => !children.some(isRunning));
    const { database, store } = await partsOf(cwd);
    const entries = await database.kysely.selectFrom('queue').selectAll().execute();
    expect(entries).toMatchObject([{ leased_by: expect.stringContaining(`command_${command.process.pid}_`) }]);

    writeFileSync(gate, '');
    const finished = new Promise((resolve) => {
      const look = async () => {
        const [trace] = (await store.list({ status: 'completed' })).data;
        if (trace === undefined) setTimeout(look, 100);
        else resolve(trace);
      };
      void look();
    });
    const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
    const service = start(['serve', ...ports, '--json'], { cwd });
    await service.prints(/"url"/);
    expect(await finished).toMatchObject({ reward: 1, attempt: 2, attempts: [{ end: 'lost' }, { end: 'completed' }] });
  });
});
