import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { freePort } from '../../free-port.ts';
import { until } from '../../until.ts';
import { start } from '../command.ts';
import { counting, detailOf, evaluate, MANY_COMMANDS, projectWith, tracesOf, writeTasks } from './project.ts';

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
      expect.stringMatching(/^there \(eval_\S+\): completed, 3 of 3 attempts\n/),
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
      [['bad.jsonl', '--model', 'proctor/oracle'], /tasks\[0\]\.args\.target/],
      [['tasks.jsonl', '--model', 'gpt-5'], /PROCTOR_GATEWAY_URL/],
      [['counter/count_to', '--model', 'proctor/oracle', '--only', 'first=2'], /tasks of a file/],
    ];
    for (const [args, message] of rows) {
      const { code, stdout, stderr } = await evaluate([...args, ...place], client);
      expect([args, code, stdout, stderr]).toEqual([args, 2, '', expect.stringMatching(message)]);
    }
  });

  it('Ctrl-C leaves it to the service', async () => {
    const { service, client } = await served();
    const file = join(service.cwd, 'open');
    writeTasks(client.cwd, 'gate.jsonl', [{ id: 'g', env: 'gate', scenario: 'pass', args: { file } }]);
    const running = start(['eval', 'gate.jsonl', '--model', 'proctor/oracle', '--service', service.url], client);
    await until(async () => (await tracesOf(service.cwd)).some(({ status }) => status === 'running'));
    await running.prints(/^0 of 1 attempts/m);
    running.process.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/it goes on at the service: "proctor eval cancel eval_\S+ --service/),
    ]);
    const shown = await evaluate(['show', 'last', '--service', service.url, '--json'], client);
    expect(detailOf(shown)).toMatchObject({ status: 'running', progress: { running: 1 } });
    const cancelled = await evaluate(['cancel', 'last', '--service', service.url, '--json'], client);
    expect(detailOf(cancelled).status).toBe('cancelled');
  });
});
