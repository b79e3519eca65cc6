import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, read } from './documents.ts';

it('every file and folder of src that ARCHITECTURE.md names exists', () => {
  const text = read('ARCHITECTURE.md').replace(/^```[\s\S]*?^```$/gm, '');
  const named = [...text.matchAll(/`([a-z-]+(?:\/[a-z-]+)+)\/?`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(30);
  const folders = ['src', '.'].map((folder) => join(ROOT, folder));
  const ends = ['', '.ts', '.tsx', '.mjs'];
  const exists = (path: string) =>
    folders.some((folder) => ends.some((end) => existsSync(join(folder, `${path}${end}`))));
  expect(named.filter((path) => !path.startsWith('proctor/') && !exists(path))).toEqual([]);
});
