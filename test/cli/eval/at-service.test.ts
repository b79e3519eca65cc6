import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { freePort } from '../../free-port.ts';
import { until } from '../../until.ts';
import { start } from '../command.ts';
import { counting, detailOf, evaluate, MANY_COMMANDS, partsOf, projectWith, tracesOf, writeTasks } from './project.ts';

/** A run service, and the options of a command in another directory that uses it. */
async function served() {
  const { cwd } = projectWith([], 'counter', 'gate');
  const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
  const service = start(['serve', ...ports, '--json'], { cwd });
  const [line] = await service.prints(/^\{.*\}$/m);
  const { url } = z.object({ url: z.string() }).parse(JSON.parse(line));
  const key = readFileSync(join(cwd, '.proctor', 'key'), 'utf8').trim();
  const client = projectWith(counting(0, 1, 2), 'counter');
  return { service: { cwd, url, process: service }, client: { cwd: client.cwd, env: { PROCTOR_API_KEY: key } } };
}

describe('proctor eval --service', MANY_COMMANDS, () => {
  it('sends the tasks of a file, follows to the end, and goes on with the same evaluation', async () => {
    const { service, client } = await served();
    const command = ['tasks.jsonl', '--model', 'proctor/noop', '--name', 'there', '--service', service.url];
    const first = await evaluate(command, client);
    expect([first.code, first.stdout]).toEqual([
      0,
      expect.stringMatching(/^there \(eval_\S+\): completed, 3 of 3 attempts\n3 tasks of tasks × 1 model/),
    ]);
    expect(first.stderr).not.toContain('Going on');
    const again = await evaluate([...command, '-n', '2', '--json'], client);
    expect([again.code, detailOf(again)]).toMatchObject([0, { attempts: 2, progress: { done: 6, total: 6 } }]);
    expect(again.stderr).toMatch(/^Going on with eval_/m);
    const gate = await evaluate(['gate', 'there', '--min-score', '0.9', '--service', service.url], client);
    expect([gate.code, gate.stdout]).toEqual([3, expect.stringMatching(/^Inconclusive: there\n/)]);
    expect((await evaluate(['list', '--service', service.url], client)).stdout).toContain('there');
    expect(await tracesOf(service.cwd)).toHaveLength(6);
  });

  it('names a taskset of the service, whose refusals end with 2', async () => {
    const { service, client } = await served();
    const place = ['--service', service.url, '--json'];
    const named = await evaluate(['counter/count_to', '--model', 'proctor/oracle', ...place], client);
    expect([named.code, detailOf(named).taskset.name]).toEqual([0, 'counter/count_to']);
    writeTasks(client.cwd, 'bad.jsonl', [{ ...counting(-1)[0], id: 'x' }] as never);
    const rows: readonly (readonly [readonly string[], RegExp])[] = [
      [['nope/nope', '--model', 'proctor/oracle'], /nope/],
      [['bad.jsonl', '--model', 'proctor/oracle'], /^proctor: bad\.jsonl:1: args\.target: /],
      [['tasks.jsonl', '--model', 'gpt-5'], /PROCTOR_GATEWAY_URL/],
      [['tasks.jsonl', '--model', 'proctor/oracle', '--only', 'ids=zz'], /zz/],
      [['tasks.jsonl', '--model', 'proctor/oracle', '--only', 'errored'], /there is none of these settings/],
    ];
    for (const [args, message] of rows) {
      const { code, stdout, stderr } = await evaluate([...args, ...place], client);
      expect([args, code, stdout, stderr]).toEqual([args, 2, '', expect.stringMatching(message)]);
    }
  });

  it('--only chooses among the tasks that the service knows, and looks at its earlier evaluations', async () => {
    const { service, client } = await served();
    const place = ['--service', service.url, '--json'];
    const few = ['counter/count_to', '--model', 'proctor/oracle', '--only', 'first=2', ...place];
    expect(detailOf(await evaluate(few, client))).toMatchObject({ taskset: { tasks: 2 }, progress: { done: 2 } });
    const command = ['tasks.jsonl', '--model', 'proctor/noop', ...place];
    const first = detailOf(await evaluate(command, client));
    const failed = detailOf(await evaluate([...command, '--only', 'failed'], client));
    expect(failed).toMatchObject({ parent: first.evaluation_id, taskset: { name: 'tasks', tasks: 2 } });
  });

  it('--only errored runs the attempts without a reward again', async () => {
    const { service, client } = await served();
    const file = join(service.cwd, 'open');
    writeTasks(client.cwd, 'gate.jsonl', [{ id: 'g', env: 'gate', scenario: 'pass', args: { file } }]);
    const command = ['gate.jsonl', '--model', 'proctor/oracle', '--service', service.url, '--json'];
    const running = start(['eval', ...command], client);
    await until(async () => (await tracesOf(service.cwd)).some(({ status }) => status === 'running'));
    const { database } = await partsOf(service.cwd);
    await database.kysely.updateTable('traces').set({ cancel_requested: 1 }).execute();
    expect((await running.ended).code).toBe(1);
    writeFileSync(file, '');
    const again = await evaluate([...command, '--only', 'errored'], client);
    expect([again.code, detailOf(again)]).toMatchObject([
      0,
      { reports: [{ mean: 1 }], progress: { done: 1, reruns: 1 } },
    ]);
  });

  it('Ctrl-C pauses it at the service; with --detach it goes on there', async () => {
    const { service, client } = await served();
    const file = join(service.cwd, 'open');
    writeTasks(client.cwd, 'gate.jsonl', [{ id: 'g', env: 'gate', scenario: 'pass', args: { file } }]);
    const command = ['eval', 'gate.jsonl', '--model', 'proctor/oracle', '--service', service.url];
    const interrupted = async (...more: readonly string[]) => {
      const running = start([...command, ...more], client);
      await until(async () => (await tracesOf(service.cwd)).some(({ status }) => status === 'running'));
      await running.prints(/^0 of 1 attempts/m);
      running.process.kill('SIGINT');
      const { code, stderr } = await running.ended;
      const shown = await evaluate(['show', 'last', '--service', service.url, '--json'], client);
      return { code, stderr, shown: detailOf(shown) };
    };
    expect(await interrupted()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/It is paused, 0 of 1 attempts are done; the same command goes on with it/),
      shown: { status: 'paused', progress: { running: 1 } },
    });
    expect(await interrupted('--detach')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/it goes on at the service: "npx proctor eval pause eval_\S+ --service/),
      shown: { status: 'running', progress: { running: 1 } },
    });
    const cancelled = await evaluate(['cancel', 'last', '--service', service.url, '--json'], client);
    expect(detailOf(cancelled).status).toBe('cancelled');
  });
});
