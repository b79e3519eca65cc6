import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { applyPatch } from '../../../src/environment/tools/apply-patch.ts';
import { EDITOR_TOOL, editor } from '../../../src/environment/tools/editor.ts';
import { openBox, openTools, textIn } from './tool-environment.ts';

async function open(files: Readonly<Record<string, string | Uint8Array>> = {}) {
  const box = await openBox();
  for (const [path, content] of Object.entries(files)) await box.files.write(path, content);
  const { agent } = await openTools(editor(box), applyPatch(box));
  const edit = (args: object) => agent.call(EDITOR_TOOL, args);
  const at = (path: string) => join(box.workdir, path);
  return { box, agent, edit, at, text: (path: string) => textIn(box, path) };
}

const LINES = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`);
const FILE = `${LINES.join('\n')}\n`;

describe('view', () => {
  it('numbers the lines of a file as cat -n does', async () => {
    const { edit, at } = await open({ 'a.txt': 'one\n\ttwo\n' });
    expect((await edit({ command: 'view', path: at('a.txt') })).text).toBe(
      `Here's the result of running \`cat -n\` on ${at('a.txt')}:\n     1\tone\n     2\t\ttwo\n     3\t`,
    );
  });

  it('shows a range, and the rest of the file for -1', async () => {
    const { edit } = await open({ 'a.txt': FILE });
    const shown = async (range: readonly number[]) =>
      (await edit({ command: 'view', path: 'a.txt', view_range: range })).text;
    expect(await shown([2, 3])).toMatch(/:\n {5}2\tline 2\n {5}3\tline 3$/);
    expect(await shown([12, -1])).toMatch(/:\n {4}12\tline 12\n {4}13\t$/);
  });

  it.each([
    [[0, 2], 'Its first element `0` should be within the range of lines of the file: [1, 13]'],
    [[2, 99], 'Its second element `99` should be smaller than the number of lines in the file: `13`'],
    [[5, 2], 'Its second element `2` should be larger or equal than its first `5`'],
    [[5], 'It should be a list of two integers.'],
  ])('refuses the range %j', async (range, problem) => {
    const { edit } = await open({ 'a.txt': FILE });
    const result = await edit({ command: 'view', path: 'a.txt', view_range: range });
    expect(result).toMatchObject({
      is_error: true,
      text: `Invalid \`view_range\`: ${JSON.stringify(range)}. ${problem}`,
    });
  });

  it('lists two levels of a folder without hidden entries', async () => {
    const { edit, box } = await open({ 'b/c/d.txt': '', 'b/e.txt': '', '.git/config': '', 'a.txt': '' });
    const { workdir } = box;
    expect((await edit({ command: 'view', path: workdir })).text).toBe(
      [
        `Here're the files and directories up to 2 levels deep in ${workdir}, excluding hidden items:`,
        workdir,
        ...['a.txt', 'b', 'b/c', 'b/e.txt'].map((name) => `${workdir}/${name}`),
      ].join('\n'),
    );
    expect(await edit({ command: 'view', path: workdir, view_range: [1, 2] })).toMatchObject({ is_error: true });
  });

  it('clips a long file and says so', async () => {
    const { edit } = await open({ 'long.txt': 'x'.repeat(20_000) });
    const { text } = await edit({ command: 'view', path: 'long.txt' });
    expect(text).toContain('x<response clipped><NOTE>');
    expect(text.length).toBeLessThan(16_500);
  });

  it('refuses in words what is missing, no text, a link, and a name with NUL', async () => {
    const { edit, at } = await open({
      'picture.png': Uint8Array.of(0x89, 0x50, 0, 1),
      'latin.txt': Uint8Array.of(0x66, 0xfc),
    });
    await symlink('/etc/hostname', at('link'));
    await symlink('/etc', at('etc'));
    const refusal = async (path: string) => {
      const result = await edit({ command: 'view', path });
      expect(result.is_error).toBe(true);
      return result.text;
    };
    expect(await refusal('none.txt')).toBe('The path none.txt does not exist. Please provide a valid path.');
    expect(await refusal('picture.png')).toContain('is no text file');
    expect(await refusal('latin.txt')).toContain('is no text file');
    expect(await refusal('link')).toContain('is a link, which is not followed');
    expect(await refusal('etc/hostname')).toContain('link');
    expect(await refusal('a\0b')).toContain('NUL');
  });
});

describe('create', () => {
  it('makes a file with its folders, and overwrites none', async () => {
    const { edit, at, text } = await open();
    const path = at('new/file.txt');
    expect((await edit({ command: 'create', path, file_text: 'a\r\nb' })).text).toBe(
      `File created successfully at: ${path}`,
    );
    expect(await text('new/file.txt')).toBe('a\r\nb');
    expect(await edit({ command: 'create', path, file_text: 'other' })).toMatchObject({
      is_error: true,
      text: `File already exists at: ${path}. Cannot overwrite files using command \`create\`.`,
    });
    expect(await edit({ command: 'create', path: 'b' })).toMatchObject({
      is_error: true,
      text: 'Parameter `file_text` is required for command: create',
    });
  });
});

describe('str_replace', () => {
  const replace = (old_str: string, new_str?: string) => ({ command: 'str_replace', path: 'a.txt', old_str, new_str });

  it('replaces a text that is there once, and shows four lines around it', async () => {
    const { edit, text } = await open({ 'a.txt': FILE });
    const result = await edit(replace('line 6\n', 'new 6\nnew 7\n'));
    expect(result.text).toBe(
      [
        "The file a.txt has been edited. Here's the result of running `cat -n` on a snippet of a.txt:",
        ...[
          'line 2',
          'line 3',
          'line 4',
          'line 5',
          'new 6',
          'new 7',
          'line 7',
          'line 8',
          'line 9',
          'line 10',
          'line 11',
        ].map((line, index) => `${String(index + 2).padStart(6)}\t${line}`),
        'Review the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). Edit the file again if necessary.',
      ].join('\n'),
    );
    expect(await text('a.txt')).toBe(FILE.replace('line 6', 'new 6\nnew 7'));
  });

  it('refuses a text that is missing, empty, or there more than once, also where it overlaps itself', async () => {
    const { edit, text } = await open({ 'a.txt': 'aaa\nb\naa\n' });
    const refused = async (old: string) => {
      const result = await edit(replace(old, 'x'));
      expect(result.is_error).toBe(true);
      return result.text;
    };
    expect(await refused('c')).toBe('No replacement was performed, old_str `c` did not appear verbatim in a.txt.');
    expect(await refused('')).toBe('Parameter `old_str` is required for command: str_replace');
    expect(await refused('aa')).toBe(
      'No replacement was performed. Multiple occurrences of old_str `aa` in lines [1, 3]. Please ensure it is unique',
    );
    expect(await text('a.txt')).toBe('aaa\nb\naa\n');
  });

  it('takes the new text to the letter, and none for nothing', async () => {
    const { edit, text } = await open({ 'a.txt': 'price: X, Y' });
    await edit(replace('X', "$& $1 $$ $' \\n"));
    expect(await text('a.txt')).toBe("price: $& $1 $$ $' \\n, Y");
    await edit(replace(', Y'));
    expect(await text('a.txt')).toBe("price: $& $1 $$ $' \\n");
  });

  it('keeps tabs, Windows line breaks, a byte order mark, a missing last line break, and the mode', async () => {
    const { edit, text, box, at } = await open({ 'a.txt': '\uFEFF\tone\r\n\ttwo\r\n\tthree' });
    await chmod(at('a.txt'), 0o755);
    await edit(replace('\ttwo\n\tthree', '\tTWO\n\tTHREE\n\tfour'));
    expect(await text('a.txt')).toBe('\uFEFF\tone\r\n\tTWO\r\n\tTHREE\r\n\tfour');
    expect((await box.files.stat('a.txt'))?.mode).toBe(0o755);
  });

  it('loses none of twenty edits that come at once', async () => {
    const words = Array.from({ length: 20 }, (_, index) => `<${index}>`);
    const { edit, text, at } = await open({ 'a.txt': words.join('\n') });
    const results = await Promise.all(
      words.map((word, index) =>
        edit({ ...replace(word, `[${index}]`), path: index % 2 === 0 ? 'a.txt' : at('a.txt') }),
      ),
    );
    expect(results.filter(({ is_error }) => is_error)).toEqual([]);
    expect(await text('a.txt')).toBe(words.map((_, index) => `[${index}]`).join('\n'));
  });

  it('refuses folders', async () => {
    const { edit } = await open({ 'a.txt/b': '' });
    expect(await edit(replace('x', 'y'))).toMatchObject({
      is_error: true,
      text: 'The path a.txt is a directory and only the `view` command can be used on directories',
    });
  });
});

describe('insert', () => {
  const insert = (insert_line: number, insert_text: string) => ({
    command: 'insert',
    path: 'a.txt',
    insert_line,
    insert_text,
  });

  it.each([
    [0, 'new', 'new\none\ntwo\n'],
    [1, 'new', 'one\nnew\ntwo\n'],
    [1, 'new\n', 'one\nnew\ntwo\n'],
    [2, 'new', 'one\ntwo\nnew\n'],
  ])('inserts after line %i', async (line, inserted, expected) => {
    const { edit, text } = await open({ 'a.txt': 'one\ntwo\n' });
    expect((await edit(insert(line, inserted))).text).toContain(`${String(line + 1).padStart(6)}\tnew\n`);
    expect(await text('a.txt')).toBe(expected);
  });

  it('begins a line of its own behind a last line without a line break', async () => {
    const { edit, text } = await open({ 'a.txt': 'one\r\ntwo' });
    await edit(insert(2, 'new'));
    expect(await text('a.txt')).toBe('one\r\ntwo\r\nnew');
  });

  it('fills an empty file', async () => {
    const { edit, text } = await open({ 'a.txt': '' });
    await edit(insert(0, 'new\n'));
    expect(await text('a.txt')).toBe('new\n');
  });

  it('takes new_str as older models write it, and refuses a line that is not there', async () => {
    const { edit, text } = await open({ 'a.txt': 'one\n' });
    await edit({ command: 'insert', path: 'a.txt', insert_line: 1, new_str: 'two' });
    expect(await text('a.txt')).toBe('one\ntwo\n');
    expect(await edit(insert(3, 'x'))).toMatchObject({
      is_error: true,
      text: 'Invalid `insert_line` parameter: 3. It should be within the range of lines of the file: [0, 2]',
    });
  });
});

it('an edit and a patch of one file at once are both kept', async () => {
  const { edit, agent, text } = await open({ 'a.txt': 'one\ntwo\n' });
  const input = '*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch';
  await Promise.all([
    edit({ command: 'str_replace', path: 'a.txt', old_str: 'one', new_str: '1' }),
    agent.call('apply_patch', { input }),
  ]);
  expect(await text('a.txt')).toBe('1\n2\n');
});

it('a name that only begins with dots is inside of the folder', async () => {
  const { edit, at } = await open();
  await mkdir(at('..b'));
  await writeFile(at('..b/c'), 'x');
  expect((await edit({ command: 'view', path: '..b/c' })).text).toContain('1\tx');
});
