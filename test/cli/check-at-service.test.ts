import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkReportSchema } from '../../src/contract/service/check.ts';
import { delta, startGateway, stream } from '../gateway.ts';
import { until } from '../until.ts';
import { PATIENCE, proctor, start } from './command.ts';
import { serve } from './serve.ts';

const printedSchema = checkReportSchema.extend({ check_id: z.string(), check_url: z.string() });
const SHORT = ['counter', '--scenario', 'count_to', '--tasks', '1'];

const foldersOfChecks = () => readdirSync(tmpdir()).filter((name) => name.startsWith('proctor-check-'));

describe('proctor check --service', { timeout: 180_000 }, () => {
  it('has the report of the service, with commands for it, and stores it there alone', async () => {
    const { url, at } = await serve();
    // In a second not everything is tried: that is a failure with --strict alone.
    const args = ['check', ...SHORT, '--max-time', '1', '--strict', '--junit', 'check.xml', '--service', url];
    const { code, stdout, stderr } = await proctor([...args, '--json'], at);
    expect([code, stderr]).toEqual([1, expect.stringContaining('--strict: not everything was tried')]);
    const { check_id, check_url, ...report } = printedSchema.parse(JSON.parse(stdout));
    expect(check_url).toBe(`${url}/checks/${check_id}`);
    expect(report.environments).toMatchObject([{ name: 'counter', scenarios: [{ name: 'count_to', tasks: 1 }] }]);
    const [finding] = report.environments[0]?.findings ?? [];
    expect(finding?.reproduce).toMatch(new RegExp(`^proctor (check|run) counter .*--service ${url}$`));
    expect(readFileSync(join(at.cwd, 'check.xml'), 'utf8')).toContain('<testsuite name="counter"');
    expect(existsSync(join(at.cwd, '.proctor'))).toBe(false);
  });

  it('ends at the service on Ctrl-C, and leaves nothing there', async () => {
    const { url, at } = await serve();
    const before = foldersOfChecks();
    const running = start(['check', 'counter', '--service', url], at);
    await until(() => foldersOfChecks().length > before.length);
    running.process.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining('Stopped by SIGINT')]);
    await until(() => foldersOfChecks().length === before.length);
    const next = await proctor(['check', ...SHORT, '--max-time', '1', '--service', url], at);
    expect(next.code, next.stderr).toBe(0);
  });

  it('ends with 2 for what the service does not have', async () => {
    const { url, at } = await serve();
    const check = async (name: string) => {
      const { code, stderr } = await proctor(['check', name, '--service', url], at);
      return [code, stderr];
    };
    expect(await check('nothing')).toEqual([2, expect.stringContaining('Environments: counter')]);
    expect(await check('./counter.ts')).toEqual([2, expect.stringContaining('"./counter.ts" is a path')]);
    expect(await check('http://127.0.0.1:1/mcp')).toEqual([2, expect.stringContaining('a path or an address')]);
  });
});

describe('proctor judge calibrate --service', PATIENCE, () => {
  it('asks the models of the service, and has the figures that its directory gives', async () => {
    const gateway = await startGateway((response) =>
      stream(delta({ role: 'assistant', content: '{"score": true, "reason": "seen"}' }), delta({}, 'stop'))(response),
    );
    const { directory, url, at } = await serve({ PROCTOR_GATEWAY_URL: gateway.url });
    const line = (id: string, label: boolean) => JSON.stringify({ id, rubric: 'Polite?', material: 'Hello.', label });
    const calibrate = ['judge', 'calibrate', 'cases.jsonl', '--model', 'critic', '--votes', '1', '--json'];
    for (const cwd of [directory, at.cwd])
      writeFileSync(join(cwd, 'cases.jsonl'), `${line('a', true)}\n${line('b', false)}`);
    const there = await proctor([...calibrate, '--service', url], at);
    expect(there.code, there.stderr).toBe(0);
    expect(gateway.requests).toHaveLength(2);
    const here = await proctor(calibrate, { cwd: directory, env: { PROCTOR_GATEWAY_URL: gateway.url } });
    expect(JSON.parse(there.stdout)).toEqual(JSON.parse(here.stdout));
    const unnamed = await proctor(['judge', 'calibrate', 'cases.jsonl', '--service', url], at);
    expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringContaining('set models.judge')]);
  });
});
