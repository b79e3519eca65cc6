import { execFile } from 'node:child_process';
import { join, posix } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { PATIENCE } from '../cli/command.ts';
import { ROOT, read } from './documents.ts';

it('every picture and file that a page of the packed package links to is packed with it', PATIENCE, async () => {
  const packed = await listPacked();
  const pages = [...packed].filter((path) => path.endsWith('.md') && !/^(templates|environments)\//.test(path));
  expect(pages).toContain('README.md');
  const missing = pages.flatMap((page) => linksOf(page).filter(({ path }) => !isPacked(packed, path)));
  expect(missing.map(({ page, path }) => `${page} links to ${path}`)).toEqual([]);
});

/** The paths of the files that `npm pack` would put into the package. */
async function listPacked(): Promise<ReadonlySet<string>> {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 });
  const [{ files }] = JSON.parse(stdout) as [{ readonly files: readonly { readonly path: string }[] }];
  return new Set(files.map(({ path }) => path));
}

/** The relative links and pictures of a page, as paths from the root of the package. */
function linksOf(page: string): readonly { readonly page: string; readonly path: string }[] {
  const text = read(page).replace(/^```[\s\S]*?^```$/gm, '');
  const targets = [
    ...text.matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g),
    ...text.matchAll(/(?:src|srcset|href)="(?!https?:|#)([^"#]+)"/g),
  ];
  return targets.map(([, target = '']) => ({ page, path: posix.normalize(posix.join(posix.dirname(page), target)) }));
}

/** A link to a folder leads to its README. */
function isPacked(packed: ReadonlySet<string>, path: string): boolean {
  return packed.has(path) || packed.has(join(path, 'README.md'));
}
