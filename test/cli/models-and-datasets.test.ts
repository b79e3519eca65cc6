import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { datasetManifestSchema } from '../../src/contract/service/dataset.ts';
import { createProject, proctor } from './command.ts';
import { serve } from './serve.ts';

describe('proctor models', { timeout: 300_000 }, () => {
  it('adds a model, its checkpoints and its head, plays it by its name, and removes it', async () => {
    const cwd = createProject('counter');
    const run = (...args: readonly string[]) => proctor(args, { cwd });
    expect((await run('models', 'add', 'clerk', '--target', 'proctor/noop', '--base', 'b')).code).toBe(0);
    expect((await run('models', 'add', 'clerk', '--checkpoint', '8=proctor/oracle')).code).toBe(0);
    const played = await run('run', 'counter', 'count_to', '--arg', 'target=3', '--model', 'clerk@8', '--json');
    const { runs } = JSON.parse(played.stdout) as { runs: readonly { trace_id: string }[] };
    const trace = JSON.parse((await run('traces', 'show', runs[0]?.trace_id ?? '', '--json')).stdout);
    expect(trace).toMatchObject({ model: 'clerk@8', model_target: 'proctor/oracle', reward: 1 });
    const head = await run('models', 'head', 'clerk', '8', '--json');
    expect(JSON.parse(head.stdout)).toMatchObject({ head: 8, checkpoints: [{ step: 8 }] });
    const wrong = await run('models', 'head', 'clerk', '9');
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('has no checkpoint of step 9: it has 8')]);
    expect((await run('models', 'list')).stdout).toContain('clerk');
    expect((await run('models', 'remove', 'clerk')).code).toBe(0);
    expect((await run('models', 'show', 'clerk')).code).toBe(2);
  });
});

describe('proctor dataset', { timeout: 300_000 }, () => {
  it('builds at a service the dataset that its directory gives, and leaves the old one where it is refused', async () => {
    const { directory, url, at } = await serve();
    await proctor(['run', 'counter', 'count_to', '--arg', 'target=3', '--model', 'proctor/oracle'], { cwd: directory });
    const build = ['dataset', 'build', '--filter', 'env_name=counter', '--include-reference', '--out', 'set'];
    const here = await proctor([...build, '--json'], { cwd: directory });
    const there = await proctor([...build, '--json', '--service', url], at);
    expect([there.code, there.stdout]).toEqual([0, here.stdout]);
    const read = (cwd: string) => readdirSync(join(cwd, 'set')).map((file) => readFileSync(join(cwd, 'set', file)));
    const files = read(directory);
    expect(files).toHaveLength(5);
    expect(read(at.cwd)).toEqual(files);
    writeFileSync(
      join(at.cwd, 'mine.jsonl'),
      JSON.stringify({ id: 'm', env: 'counter', scenario: 'count_to', args: { target: 3 } }),
    );
    const refused = await proctor([...build, '--held-out', 'mine.jsonl', '--service', url], at);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('"m"')]);
    const unknown = await proctor([...build, '--held-out', 'nowhere', '--service', url], at);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('nowhere')]);
    expect(read(at.cwd)).toEqual(files);
  });

  it('builds a dataset of the runs of this directory, checks it and shows it', async () => {
    const cwd = createProject('counter');
    const run = (...args: readonly string[]) => proctor(args, { cwd });
    await run('run', 'counter', 'count_to', '--arg', 'target=3', '--model', 'proctor/oracle');
    const build = ['dataset', 'build', '--filter', 'env_name=counter', '--out', 'set'];
    const empty = await run(...build);
    expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining('No trace is left to train on')]);
    expect(empty.stdout).toContain('reference_model 1');
    expect(readdirSync(cwd)).not.toContain('set');
    const built = await run(...build, '--include-reference', '--json');
    expect(built.code, built.stderr).toBe(0);
    const manifest = datasetManifestSchema.parse(JSON.parse(built.stdout));
    expect(manifest.lines).toEqual({ train: 1, validation: 0 });
    expect(JSON.parse((await run('dataset', 'show', 'set', '--json')).stdout)).toEqual(manifest);
    const valid = await run('dataset', 'validate', 'set');
    expect([valid.code, valid.stdout]).toEqual([
      0,
      expect.stringContaining('train.jsonl: 1 lines, 0 errors, 1 warnings'),
    ]);
    const asTrl = await run('dataset', 'validate', 'set/train.jsonl', '--format', 'trl');
    expect([asTrl.code, asTrl.stderr]).toEqual([1, expect.stringContaining('set/train.jsonl:1: messages.')]);
    expect(readFileSync(join(cwd, 'set/dataset.md'), 'utf8')).toContain(manifest.hash);

    const evaluated = await run('eval', 'counter:train', '--model', 'proctor/oracle', '--name', 'weak', '--json');
    expect(evaluated.code, evaluated.stderr).toBe(0);
    const ofEvaluation = ['dataset', 'build', '--evaluation', 'weak', '--include-reference', '--out', 'of-weak'];
    expect((await run(...ofEvaluation)).code).toBe(0);
    const exported = await run('export', 'weak', '--format', 'jsonl', '--out', 'weak.jsonl');
    expect([exported.code, exported.stderr]).toEqual([0, expect.stringMatching(/Wrote 7 traces to weak\.jsonl/)]);
    const unknown = await run('export', 'strong', '--format', 'jsonl', '--out', 'strong.jsonl');
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('"proctor eval list" shows them')]);

    await run('run', 'counter', 'count_to', '--arg', 'target=7', '--model', 'proctor/oracle');
    const heldOut = await run(...build, '--include-reference');
    expect([heldOut.code, heldOut.stderr]).toEqual([2, expect.stringMatching(/"seven".*--split train/s)]);
    const named = await run(...build, '--include-reference', '--filter', 'mood=good');
    expect([named.code, named.stderr]).toEqual([2, expect.stringContaining('--filter knows no mood')]);
    const worded = await run(...build, '--filter', 'min_reward=abc');
    expect([worded.code, worded.stderr]).toEqual([
      2,
      expect.stringContaining('--filter min_reward has to be a number, got "abc".'),
    ]);
    const share = await run(...build, '--validation', '0.9');
    expect([share.code, share.stderr]).toEqual([
      2,
      expect.stringContaining('--validation has to be a number from 0 to 0.5, got 0.9.'),
    ]);
  });
});
