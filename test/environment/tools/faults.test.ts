import { chmod, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { applyPatch } from '../../../src/environment/tools/apply-patch.ts';
import { bash } from '../../../src/environment/tools/bash.ts';
import { editor } from '../../../src/environment/tools/editor.ts';
import { files } from '../../../src/environment/tools/files.ts';
import { openLocalSandbox } from './local-sandbox.ts';
import { withTools } from './tool-environment.ts';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

async function open(given: Readonly<Record<string, string>> = {}) {
  const sandbox = await openLocalSandbox();
  const env = await withTools(editor(sandbox), applyPatch(sandbox), files(sandbox), bash(sandbox));
  opened.push(env, { close: () => sandbox.stop() });
  for (const [path, text] of Object.entries(given)) await sandbox.files.write(path, text);
  const at = (path: string) => join(sandbox.workdir, path);
  return {
    at,
    call: (name: string, args: object) => env.agent.call(name, args),
    patch: (...lines: readonly string[]) =>
      env.agent.call('apply_patch', { input: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') }),
    text: (path: string) => readFile(at(path), 'utf8'),
  };
}

describe('patterns of an agent', () => {
  it('are ended when they would take for ever, and the environment goes on', async () => {
    const { call } = await open({ 'a.txt': `${'a'.repeat(60)}!\n`, 'b.txt': 'found\n' });
    for (const path of ['.', 'a.txt']) {
      expect(await call('grep', { pattern: '(a+)+$', path })).toMatchObject({
        is_error: true,
        text: expect.stringContaining('takes too long'),
      });
    }
    expect((await call('grep', { pattern: '^fo+' })).text).toBe('b.txt:1:found');
    expect((await call('grep', { pattern: '(' })).text).toContain('is no regular expression');
  });

  it.each([
    ['*.ts', ['a.ts']],
    ['**/*.ts', ['a.ts', 'src/[x].ts', 'src/c.ts']],
    ['**/?.{js,tsx}', ['b.js', 'src/deep/d.tsx']],
    ['src/[a-c].ts', ['src/c.ts']],
    ['src/[!a-c]*.ts', ['src/[x].ts']],
    ['*.(ts)', ['no matches']],
  ])('list files by %s', async (pattern, expected) => {
    const paths = ['a.ts', 'b.js', 'src/c.ts', 'src/deep/d.tsx', 'src/[x].ts', 'node_modules/e.ts'];
    const { call } = await open(Object.fromEntries(paths.map((path) => [path, ''])));
    expect((await call('glob', { pattern })).text.split('\n')).toEqual(expected);
  });
});

describe('changes of a file', () => {
  it('are kept when different tools make them at once', async () => {
    const words = Array.from({ length: 12 }, (_, index) => `<${index}>`);
    const { call, patch, text, at } = await open({ 'a.txt': `${words.join('\n')}\n` });
    const results = await Promise.all(
      words.map((word, index) => {
        if (index % 3 === 0) return patch('*** Update File: a.txt', '@@', `-${word}`, `+[${index}]`);
        if (index % 3 === 1) return call('edit', { file_path: 'a.txt', old_string: word, new_string: `[${index}]` });
        const edit = { command: 'str_replace', path: at('a.txt'), old_str: word, new_str: `[${index}]` };
        return call('str_replace_based_edit_tool', edit);
      }),
    );
    expect(results.filter(({ is_error }) => is_error)).toEqual([]);
    expect(await text('a.txt')).toBe(words.map((_, index) => `[${index}]\n`).join(''));
  });

  it('by edit keep Windows line breaks, for old texts of several lines as well', async () => {
    const { call, text } = await open({ 'a.txt': 'one\r\ntwo\r\nthree\r\n' });
    const edit = { file_path: 'a.txt', old_string: 'one\ntwo', new_string: '1\n2\n$&' };
    expect((await call('edit', edit)).text).toBe('edited a.txt (1 replacement(s))');
    expect(await text('a.txt')).toBe('1\r\n2\r\n$&\r\nthree\r\n');
  });
});

describe('apply_patch', () => {
  it('keeps the mode of a file that it moves', async () => {
    const { patch, at } = await open({ 'a.sh': 'x\n' });
    await chmod(at('a.sh'), 0o755);
    expect((await patch('*** Update File: a.sh', '*** Move to: b.sh', '@@', '-x', '+y')).is_error).toBe(false);
    expect((await stat(at('b.sh'))).mode & 0o777).toBe(0o755);
  });

  it('updates no file that an earlier part of the patch removed', async () => {
    const { patch, text } = await open({ 'a.txt': 'one\n' });
    const result = await patch('*** Delete File: a.txt', '*** Update File: a.txt', '@@', '-one', '+1');
    expect(result.is_error).toBe(true);
    expect(await text('a.txt')).toBe('one\n');
  });

  it('leaves every context line as the file has it, also between two changes', async () => {
    const { patch, text } = await open({ 'a.txt': '\tfirst  \nold\n  \u201cmiddle\u201d\nold\n\tlast \n' });
    const lines = [' first', '-old', '+new', ' "middle"', '-old', '+new', ' last'];
    expect((await patch('*** Update File: a.txt', '@@', ...lines)).is_error).toBe(false);
    expect(await text('a.txt')).toBe('\tfirst  \nnew\n  \u201cmiddle\u201d\nnew\n\tlast \n');
  });

  it('takes a hunk that ends in an empty line which the file does not have', async () => {
    const { patch, text } = await open({ 'a.txt': 'one\ntwo\n' });
    await patch('*** Update File: a.txt', '@@', '-two', '+2', '');
    expect(await text('a.txt')).toBe('one\n2\n');
  });
});

it('bash runs a command that begins with a dash as a command', async () => {
  const { call } = await open();
  expect((await call('bash', { command: '-x' })).text).toContain('not found');
});
