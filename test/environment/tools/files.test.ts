import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { files } from '../../../src/environment/tools/files.ts';
import { openBox, openTools, textIn } from './tool-environment.ts';

async function open(contents: Readonly<Record<string, string | Uint8Array>> = {}) {
  const box = await openBox();
  for (const [path, content] of Object.entries(contents)) await box.files.write(path, content);
  const { agent } = await openTools(files(box));
  return {
    box,
    call: (name: string, args: object) => agent.call(name, args),
    text: (path: string) => textIn(box, path),
  };
}

describe('the tools read, write and edit', () => {
  it('write a file, read it with numbers, and edit it', async () => {
    const { call, text } = await open();
    expect((await call('write', { file_path: 'a/b.txt', content: 'one\ntwo\n' })).text).toBe(
      'wrote 8 bytes to a/b.txt',
    );
    expect((await call('read', { file_path: 'a/b.txt' })).text).toBe('     1\tone\n     2\ttwo');
    expect((await call('read', { file_path: 'a/b.txt', view_range: [2, -1] })).text).toBe('     2\ttwo');
    const edit = { file_path: 'a/b.txt', old_string: 'two', new_string: '$& 2' };
    expect((await call('edit', edit)).text).toBe('edited a/b.txt (1 replacement(s))');
    expect(await text('a/b.txt')).toBe('one\n$& 2\n');
  });

  it('edit a text that is there once, or all of them', async () => {
    const { call, text } = await open({ 'a.txt': 'x\r\ny\r\nx\r\n' });
    const edit = async (more: object) => await call('edit', { file_path: 'a.txt', new_string: 'z\nz', ...more });
    expect((await edit({ old_string: 'none' })).text).toBe('edit: old_string not found in a.txt');
    expect(await edit({ old_string: 'x' })).toMatchObject({
      is_error: true,
      text: 'edit: old_string appears 2 times in a.txt (must be unique)',
    });
    expect((await edit({ old_string: 'x', replace_all: true })).text).toBe('edited a.txt (2 replacement(s))');
    expect(await text('a.txt')).toBe('z\r\nz\r\ny\r\nz\r\nz\r\n');
  });

  it('stay in the working folder, also behind links', async () => {
    const { call, box } = await open();
    await symlink('/etc', join(box.workdir, 'etc'));
    for (const file_path of ['/etc/hostname', '../x', 'a/../../x', 'etc/hostname']) {
      expect(await call('read', { file_path })).toMatchObject({ is_error: true });
      expect(await call('write', { file_path, content: 'x' })).toMatchObject({ is_error: true });
    }
    expect((await call('read', { file_path: '../x' })).text).toContain('outside of the working folder');
    expect((await call('grep', { pattern: 'x', path: '/etc' })).text).toContain('outside of the working folder');
  });

  it('refuse a file that is too large to read at once', async () => {
    const { call } = await open({ 'a.txt': `${'x'.repeat(99)}\n`.repeat(3_000) });
    expect((await call('read', { file_path: 'a.txt' })).text).toContain('larger than 262144 bytes');
    expect((await call('read', { file_path: 'a.txt', view_range: [3_000, -1] })).text).toContain('  3000\txxx');
  });
});

describe('the tool glob', () => {
  const tree = Object.fromEntries(
    ['a.ts', 'b.js', 'src/c.ts', 'src/deep/d.tsx', 'src/[x].ts', 'node_modules/e.ts'].map((path) => [path, '']),
  );

  it.each([
    ['*.ts', ['a.ts']],
    ['**/*.ts', ['a.ts', 'src/[x].ts', 'src/c.ts']],
    ['src/**', ['src/[x].ts', 'src/c.ts', 'src/deep/d.tsx']],
    ['**/?.{js,tsx}', ['b.js', 'src/deep/d.tsx']],
    ['src/[a-c].ts', ['src/c.ts']],
    ['src/[!a-c]*.ts', ['src/[x].ts']],
    ['*.(ts)', ['no matches']],
  ])('finds %s', async (pattern, expected) => {
    const { call } = await open(tree);
    expect((await call('glob', { pattern })).text.split('\n')).toEqual(expected);
  });

  it('shows 200 paths and says how many more there are', async () => {
    const { call } = await open(Object.fromEntries(Array.from({ length: 203 }, (_, index) => [`f${index}`, ''])));
    const lines = (await call('glob', { pattern: '*' })).text.split('\n');
    expect(lines).toHaveLength(201);
    expect(lines.at(-1)).toBe('[3 more]');
  });

  it('refuses patterns that lead out of the folder', async () => {
    const { call } = await open();
    for (const pattern of ['/etc/*', '../*']) expect((await call('glob', { pattern })).is_error).toBe(true);
  });
});

describe('the tool grep', () => {
  it('gives path, number and text of the lines that match, in files and folders', async () => {
    const { call } = await open({
      'a.txt': 'one\r\ntwo 2\r\n',
      'src/b.txt': 'two\n22',
      'picture.png': Uint8Array.of(0x32, 0),
      'long.txt': `2${'x'.repeat(2_000)}\n`,
    });
    expect((await call('grep', { pattern: '2$' })).text).toBe('a.txt:2:two 2\nsrc/b.txt:2:22');
    expect((await call('grep', { pattern: '^two', path: 'src' })).text).toBe('src/b.txt:1:two');
    expect((await call('grep', { pattern: 'two', path: 'a.txt' })).text).toBe('a.txt:2:two 2');
    expect((await call('grep', { pattern: 'none' })).text).toBe('no matches');
  });

  it('refuses a pattern that is none, and ends one that would take for ever', async () => {
    const { call } = await open({ 'a.txt': `${'a'.repeat(40)}!\n` });
    expect((await call('grep', { pattern: '(' })).text).toContain('is no regular expression');
    expect(await call('grep', { pattern: '(a+)+$' })).toMatchObject({
      is_error: true,
      text: expect.stringContaining('takes too long'),
    });
  });

  it('says that it has shown a part', async () => {
    const { call } = await open({ 'a.txt': `${'x'.repeat(1_000)}\n`.repeat(200) });
    expect((await call('grep', { pattern: 'x' })).text).toMatch(/\[there are more matches: .*\]$/);
  });
});
