import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readTasksetFile } from '../../src/evaluation/tasks/read-taskset-file.ts';
import { directoryWith } from '../evaluation/tasks/files.ts';
import { blocksOf, ROOT } from './documents.ts';

const GUIDE = 'docs/tasks.md';

async function readBlock(language: string) {
  const [block = ''] = blocksOf(GUIDE, language);
  const name = `tasks.${language}`;
  return await readTasksetFile(join(directoryWith({ [name]: block }), name));
}

describe('the guide to tasks', () => {
  it('shows one taskset as lines of JSON, as YAML and as a module', async () => {
    const [lines, yaml, module] = await Promise.all([
      readBlock('jsonl'),
      readBlock('yaml'),
      readTasksetFile(join(ROOT, 'docs/examples/counting.ts')),
    ]);
    expect(lines.tasks.map(({ id }) => id)).toEqual(['seven', 'three']);
    expect(yaml.version).toBe(lines.version);
    expect(module.version).toBe(lines.version);
  });

  it('shows a module that makes its tasks', async () => {
    const { tasks } = await readTasksetFile(join(ROOT, 'docs/examples/squares.ts'));
    expect(tasks.map(({ id, args, split }) => [id, args.target, split])).toEqual([
      ['square-of-2', 4, 'train'],
      ['square-of-3', 9, 'train'],
      ['square-of-4', 16, 'train'],
      ['square-of-5', 25, 'test'],
    ]);
  });
});
