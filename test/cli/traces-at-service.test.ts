import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { traceListSchema } from '../../src/contract/service/trace.ts';
import { startService, traceIdOf } from '../service/runs/service.ts';
import { createProject, PATIENCE, proctor } from './command.ts';

describe('traces of a run service', PATIENCE, () => {
  it('are listed, shown, exported and deleted with --service, as those of a directory are', async () => {
    const service = await startService();
    const id = traceIdOf(await service.run());
    await service.ended(id);
    const options = { cwd: createProject(), env: { PROCTOR_API_KEY: service.key } };
    const at = ['--service', service.url];

    const listed = await proctor(['traces', 'list', ...at, '--env', 'counter', '--since', '1h', '--json'], options);
    const { data } = traceListSchema.parse(JSON.parse(listed.stdout));
    expect(data.map(({ trace_id }) => trace_id)).toEqual([id]);
    const shown = await proctor(['traces', 'show', id, ...at], options);
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringMatching(/call increment|increment \{"by":3\}/)]);
    const exported = await proctor(['export', id, ...at, '--format', 'openai'], options);
    expect([exported.code, JSON.parse(exported.stdout)]).toMatchObject([0, { messages: expect.any(Array) }]);
    const deleted = await proctor(['traces', 'delete', id, ...at], options);
    expect([deleted.code, deleted.stdout]).toEqual([0, `Deleted ${id}.\n`]);
    expect(await service.countRuns()).toBe(0);

    const account = await proctor(['traces', 'list', ...at, '--account', 'team'], options);
    expect([account.code, account.stderr]).toEqual([2, expect.stringContaining('leave --account out')]);
  });

  it('are not pruned from afar, nor are keys made there: the message says where', async () => {
    const options = { cwd: createProject() };
    const at = ['--service', 'https://proctor.example'];
    for (const command of [
      ['traces', 'prune', '--keep-last', '1'],
      ['traces', 'backup', 'x.db'],
      ['keys', 'list'],
    ]) {
      const { code, stderr } = await proctor([...command, ...at], options);
      expect([code, stderr]).toEqual([2, expect.stringContaining('at the machine of that service')]);
    }
  });
});

describe('proctor import --service', PATIENCE, () => {
  it('sends a file and a folder of verifiers, with what the folder says of them, and names a refused file', async () => {
    const service = await startService();
    const cwd = createProject();
    const options = { cwd, env: { PROCTOR_API_KEY: service.key } };
    const id = traceIdOf(await service.run());
    await service.ended(id);
    const at = ['--service', service.url];
    await proctor(['export', id, ...at, '--format', 'jsonl', '--out', 'run.jsonl'], options);
    mkdirSync(join(cwd, 'outputs'));
    const row = { example_id: 0, prompt: [{ role: 'user', content: 'Add.' }], completion: [], reward: 1 };
    writeFileSync(join(cwd, 'outputs/results.jsonl'), `${JSON.stringify(row)}\n`);
    writeFileSync(join(cwd, 'outputs/metadata.json'), JSON.stringify({ env_id: 'sums', model: 'adder' }));
    writeFileSync(join(cwd, 'wrong.json'), '{"is": "nothing"}');

    const files = ['run.jsonl', 'outputs', 'wrong.json', 'nowhere.json'];
    const { code, stdout } = await proctor(['import', ...files, ...at, '--json'], options);
    const { imported, refused } = JSON.parse(stdout);
    expect(code).toBe(1);
    expect(imported).toEqual(
      ['run.jsonl', 'outputs'].map((file) => ({ file, trace_ids: [expect.stringMatching(/^[0-9a-f]{32}$/)] })),
    );
    expect(refused).toEqual([
      { file: 'wrong.json', error: expect.stringContaining('no format that is known here') },
      { file: 'nowhere.json', error: 'There is no such file.' },
    ]);
    const listed = await service.client.traces.list({ origin: 'import', env_name: 'sums' });
    expect(listed.data).toMatchObject([{ trace_id: imported[1].trace_ids[0], model: 'adder', reward: 1 }]);
    const account = await proctor(['import', 'run.jsonl', ...at, '--account', 'team'], options);
    expect([account.code, account.stderr]).toEqual([2, expect.stringContaining('leave --account out')]);
  });
});
