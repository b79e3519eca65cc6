import { link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EnvironmentClient } from 'proctor/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WorkFiles } from './files/work-files.ts';
import { command, connect, say } from './test-workspace.ts';

const session = () => connect({ sandbox: 'none' });
const write = (client: EnvironmentClient, path: string, content: string) =>
  say(client, 'write_file', { path, content });
const read = (client: EnvironmentClient, path: string) => say(client, 'read_file', { path });
const refused = (text: string | RegExp) => ({ isError: true, text: expect.stringMatching(text) });

describe('the file tools', () => {
  it('write a file with the folders that it needs, and read it', async () => {
    const client = await session();
    expect(await write(client, 'a/b/c.txt', 'one\ntwo\n')).toEqual({
      text: 'Wrote 8 bytes to a/b/c.txt.',
      isError: false,
    });
    expect(await read(client, './a/../a/b//c.txt')).toEqual({ text: 'one\ntwo\n', isError: false });
    expect(await write(client, 'a/b/c.txt', 'x')).toMatchObject({ isError: false });
    expect(await read(client, 'a/b/c.txt')).toEqual({ text: 'x', isError: false });
  });

  it('read some of the lines, and say which', async () => {
    const client = await session();
    await write(client, 'lines.txt', 'a\nb\nc\nd\n');
    const some = await say(client, 'read_file', { path: 'lines.txt', from_line: 2, max_lines: 2 });
    expect(some.text).toBe('b\nc\n[lines 2 to 3 of 4]');
    expect(await say(client, 'read_file', { path: 'lines.txt', from_line: 9 })).toEqual(refused('only 4 lines'));
    await write(client, 'long.txt', 'x'.repeat(200_000));
    expect((await read(client, 'long.txt')).text.length).toBeLessThan(70_000);
  });

  it('edit the one place where the old text is', async () => {
    const client = await session();
    await write(client, 'code.js', 'let a = 1;\nlet b = 1;\n');
    const edit = (old_text: string, new_text: string) =>
      say(client, 'edit_file', { path: 'code.js', old_text, new_text });
    expect(await edit('= 1', '= 2')).toEqual(refused('more than once'));
    expect(await edit('let c', '')).toEqual(refused('not in "code.js"'));
    expect(await edit('b = 1', "b = '$&'")).toEqual({ text: 'Edited code.js at line 2.', isError: false });
    expect(await read(client, 'code.js')).toMatchObject({ text: "let a = 1;\nlet b = '$&';\n" });
    await write(client, 'overlap.txt', 'aaa');
    expect(await say(client, 'edit_file', { path: 'overlap.txt', old_text: 'aa', new_text: 'b' })).toEqual(
      refused('more than once'),
    );
  });

  it('list what is there, links and special files as such, and do not enter node_modules', async () => {
    const client = await session();
    await command(
      client,
      'mkdir -p src node_modules/x; echo 1 > src/a.js; echo 2 > node_modules/x/b; ln -s / root; mkfifo pipe',
    );
    const { text } = await say(client, 'list_files', {});
    expect(text.split('\n')).toEqual([
      'node_modules/',
      'pipe (special file)',
      'root (symbolic link)',
      'src/',
      'src/a.js (2 bytes)',
    ]);
    expect((await say(client, 'list_files', { path: 'src' })).text).toBe('src/a.js (2 bytes)');
    await command(client, 'mkdir many; cd many; seq 1200 | xargs touch');
    expect((await say(client, 'list_files', { path: 'many' })).text).toContain('more than 1000 entries');
  });

  it('find text as it is, or by a regular expression, and pass over what is no text', async () => {
    const client = await session();
    await write(client, 'a.txt', 'price (1.5)\nother\n');
    await write(client, 'b/c.txt', 'price 105\n');
    await command(client, 'printf "price \\000" > binary; ln -s /etc linked');
    const search = (pattern: string, more: Record<string, string | boolean> = {}) =>
      say(client, 'search', { pattern, ...more });
    expect((await search('(1.5)')).text).toBe('a.txt:1: price (1.5)');
    expect((await search('1.5', { is_regex: true })).text).toBe('a.txt:1: price (1.5)\nb/c.txt:1: price 105');
    expect((await search('price', { path: 'b' })).text).toBe('b/c.txt:1: price 105');
    expect((await search('nowhere')).text).toBe('Nothing was found.');
    expect(await search('(', { is_regex: true })).toEqual(refused('cannot be searched for'));
  });

  it('end a search that would take forever, and go on serving meanwhile', async () => {
    const client = await session();
    await write(client, 'a.txt', `${'a'.repeat(60)}!\n`);
    const slow = say(client, 'search', { pattern: '^(a+)+$', is_regex: true });
    expect((await read(client, 'a.txt')).isError).toBe(false);
    expect(await slow).toEqual(refused('took longer than'));
  });

  it('say of a binary file that it is one, and take no file that is too large', async () => {
    const client = await session();
    await command(client, 'head -c 3000000 /dev/zero > large; printf "\\000\\001" > small; printf "\\377" > latin');
    expect(await read(client, 'small')).toEqual(refused('a binary file of 2 bytes'));
    expect(await read(client, 'latin')).toEqual(refused('a binary file of 1 bytes'));
    expect(await read(client, 'large')).toEqual(refused('3000000 bytes'));
    expect(await write(client, 'new', 'x'.repeat(1_048_577))).toEqual(refused('1048577 bytes'));
  });

  it.each([
    ['beside the directory', '../outside.txt', 'leaves the work directory'],
    ['above a folder', 'a/../../outside.txt', 'leaves the work directory'],
    ['from the root', '/etc/passwd', 'is absolute'],
    ['with a NUL', 'a\0b', 'NUL'],
    ['of 1,025 characters', 'x'.repeat(1_025), 'longer than'],
    ['with a name of 300', 'x'.repeat(300), 'too long'],
    ['of the directory itself', '.', 'work directory itself'],
  ])('refuse a path %s', async (_, path, words) => {
    const client = await session();
    expect(await read(client, path)).toEqual(refused(words));
    expect(await write(client, path, 'x')).toEqual(refused(words));
    expect(await say(client, 'edit_file', { path, old_text: 'x', new_text: 'y' })).toEqual(refused(words));
  });

  it('say what does not exist', async () => {
    const client = await session();
    expect(await read(client, 'missing/file.txt')).toEqual(refused('"missing" does not exist'));
    expect(await say(client, 'list_files', { path: 'missing' })).toEqual(refused('"missing" does not exist'));
  });

  it('refuse links, pipes and folders that a command has made', async () => {
    const client = await session();
    const outside = await folderOutside();
    await command(
      client,
      `ln -s ${outside}/secret.txt file; ln -s ${outside} folder; ln -s ${outside}/new.txt dangling; mkfifo pipe; mkdir real`,
    );
    for (const path of ['file', 'folder/secret.txt', 'folder/deep/new.txt', 'dangling']) {
      expect(await read(client, path)).toEqual(refused('symbolic link'));
      expect(await write(client, path, 'overwritten')).toEqual(refused('symbolic link'));
    }
    expect(await say(client, 'list_files', { path: 'folder' })).toEqual(refused('symbolic link'));
    expect(await say(client, 'search', { pattern: 'secret', path: 'folder' })).toEqual(refused('symbolic link'));
    expect((await say(client, 'search', { pattern: 'the secret' })).text).toBe('Nothing was found.');
    for (const path of ['pipe', 'real']) {
      expect(await read(client, path)).toEqual(refused('not a regular file|is a folder'));
      expect(await write(client, path, 'x')).toEqual(refused('not a regular file|is a folder'));
    }
    const { output } = await command(client, `cat ${outside}/secret.txt; ls ${outside}`);
    expect(output).toBe('the secret\nsecret.txt\n');
  });

  it('refuse a file with a second name', async () => {
    const client = await session();
    const outside = await folderOutside();
    const { output } = await command(client, `ln ${outside}/secret.txt hard && echo linked; ls`);
    expect(output).toContain('linked');
    expect(await read(client, 'hard')).toEqual(refused('hard link'));
    expect(await write(client, 'hard', 'overwritten')).toEqual(refused('hard link'));
    expect((await say(client, 'search', { pattern: 'the secret' })).text).toBe('Nothing was found.');
    expect((await command(client, `cat ${outside}/secret.txt`)).output).toBe('the secret\n');
  });

  it('never leave the directory while its folders are exchanged for links', async () => {
    const outside = await folderOutside();
    const root = await folderOutside();
    await mkdir(join(root, 'real'));
    await writeFile(join(root, 'real', 'secret.txt'), 'harmless');
    const files = new WorkFiles(root);
    let isOver = false;
    const way = join(root, 'way');
    // What is made in between by the tools may stand in the way: then the next turn begins.
    const replace = async (make: () => Promise<void>) => {
      await rm(way, { recursive: true, force: true }).catch(() => {});
      await make().catch(() => {});
    };
    let turns = 0;
    const exchange = async () => {
      for (; !isOver; turns += 1) {
        await replace(() => symlink('real', way));
        await replace(() => symlink(outside, way));
        await replace(() => mkdir(way));
        await link(join(root, 'real', 'secret.txt'), join(way, 'secret.txt')).catch(() => {});
      }
    };
    const exchanging = exchange();
    for (let round = 0; round < 1_000; round += 1) {
      const text = await files.read('way/secret.txt', 1, 10).catch(() => '');
      expect(text).not.toContain('the secret');
      await files.write('way/secret.txt', 'overwritten').catch(() => '');
      await files.write('way/made.txt', 'made').catch(() => '');
    }
    isOver = true;
    await exchanging;
    expect(turns).toBeGreaterThan(50);
    expect(await new WorkFiles(outside).list('.')).toBe('secret.txt (11 bytes)');
    expect(await new WorkFiles(outside).read('secret.txt', 1, 10)).toBe('the secret\n');
  });
});

async function folderOutside(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'outside-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'secret.txt'), 'the secret\n');
  return folder;
}
