import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { applyPatch } from '../../../src/environment/tools/apply-patch.ts';
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
  const env = await withTools(editor(sandbox), applyPatch(sandbox), files(sandbox));
  opened.push(env, { close: () => sandbox.stop() });
  for (const [path, text] of Object.entries(given)) await sandbox.files.write(path, text);
  const call = (name: string, args: Record<string, unknown>) => env.agent.call(name, args as never);
  const at = (path: string) => join(sandbox.workdir, path);
  return {
    sandbox,
    call,
    at,
    edit: (command: string, path: string, args: Record<string, unknown> = {}) =>
      call('str_replace_based_edit_tool', { command, path: at(path), ...args }),
    patch: (...lines: string[]) =>
      call('apply_patch', { input: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') }),
    text: (path: string) => readFile(at(path), 'utf8'),
  };
}

describe('editor', () => {
  it('views a file with numbers, and a range of it', async () => {
    const { edit, at } = await open({ a: 'one\n\ttwo\nthree\n' });
    const head = `Here's the result of running \`cat -n\` on ${at('a')}:\n`;
    expect((await edit('view', 'a')).text).toBe(`${head}     1\tone\n     2\t\ttwo\n     3\tthree\n`);
    expect((await edit('view', 'a', { view_range: [2, -1] })).text).toBe(`${head}     2\t\ttwo\n     3\tthree\n`);
    expect(await edit('view', 'a', { view_range: [9, 10] })).toMatchObject({
      is_error: true,
      text: expect.stringContaining('Invalid `view_range`: [9,10]. Its first element `9`'),
    });
  });

  it('views two levels of a directory, without hidden entries', async () => {
    const { edit } = await open({ 'd/e/f/g': '', 'd/e/h': '', 'd/.hid/x': '', 'd/node_modules/m': '', 'd/i': '' });
    const { text } = await edit('view', 'd');
    expect(text).toMatch(/d\/e\/\n.*d\/e\/f\/\n.*d\/e\/h\n.*d\/i\n$/);
    expect(text).not.toMatch(/\.hid|f\/g|node_modules\//);
  });

  it('creates a file in a new folder, and does not overwrite one', async () => {
    const { edit, text, at } = await open();
    expect((await edit('create', 'x/y/z', { file_text: 'new' })).text).toBe(
      `File created successfully at: ${at('x/y/z')}`,
    );
    expect(await text('x/y/z')).toBe('new');
    expect(await edit('create', 'x/y/z', { file_text: 'other' })).toMatchObject({
      is_error: true,
      text: `File already exists at: ${at('x/y/z')}. Cannot overwrite files using command \`create\`.`,
    });
  });

  it('replaces a text that is there once, whatever signs the new text has', async () => {
    const { edit, text, at } = await open({ a: 'x = 1;\ny = 1;\n' });
    const result = await edit('str_replace', 'a', { old_str: 'x = 1', new_str: "x = '$&$1$$'" });
    expect(result.text).toMatch(/^The file .* has been edited\. [\s\S]*Review the changes and make sure/);
    expect(await text('a')).toBe("x = '$&$1$$';\ny = 1;\n");
    expect((await edit('str_replace', 'a', { old_str: 'none', new_str: '' })).text).toBe(
      `No replacement was performed, old_str \`none\` did not appear verbatim in ${at('a')}.`,
    );
    await edit('create', 'b', { file_text: 'aaa\naa\n' });
    expect((await edit('str_replace', 'b', { old_str: 'aa', new_str: '' })).text).toBe(
      'No replacement was performed. Multiple occurrences of old_str `aa` in lines [1, 2]. Please ensure it is unique',
    );
    expect(await edit('str_replace', 'a', { old_str: '', new_str: 'x' })).toMatchObject({ is_error: true });
  });

  it('keeps tabs, CRLF, a missing final newline and the mode of a file', async () => {
    const { edit, text, at } = await open({ a: 'if:\r\n\tone\r\n\ttwo' });
    await chmod(at('a'), 0o755);
    await edit('str_replace', 'a', { old_str: 'if:\n\tone', new_str: 'if:\n\tfirst\n\tmore' });
    expect(await text('a')).toBe('if:\r\n\tfirst\r\n\tmore\r\n\ttwo');
    await edit('insert', 'a', { insert_line: 1, insert_text: '\tzero' });
    await edit('insert', 'a', { insert_line: 5, insert_text: 'end' });
    expect(await text('a')).toBe('if:\r\n\tzero\r\n\tfirst\r\n\tmore\r\n\ttwo\r\nend');
    expect((await stat(at('a'))).mode & 0o777).toBe(0o755);
  });

  it('inserts by the older name of the argument, and refuses a line that is not there', async () => {
    const { edit, text } = await open({ a: 'one\n' });
    await edit('insert', 'a', { insert_line: 0, new_str: 'zero' });
    expect(await text('a')).toBe('zero\none\n');
    expect((await edit('insert', 'a', { insert_line: 3, insert_text: 'x' })).text).toBe(
      'Invalid `insert_line` parameter: 3. It should be within the range of lines of the file: [0, 2]',
    );
  });

  it('loses no edit of several at once', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `line${index};`);
    const { edit, text } = await open({ a: names.join('\n') });
    await Promise.all(names.map((name) => edit('str_replace', 'a', { old_str: name, new_str: `done ${name}` })));
    expect(await text('a')).toBe(names.map((name) => `done ${name}`).join('\n'));
  });

  it('refuses binary files, relative paths and files that are not there in words', async () => {
    const { edit, call, at } = await open({ bin: 'a\0b' });
    expect((await edit('view', 'bin')).text).toContain('is binary');
    expect((await edit('view', 'none')).text).toBe(
      `The path ${at('none')} does not exist. Please provide a valid path.`,
    );
    const relative = await call('str_replace_based_edit_tool', { command: 'view', path: 'bin' });
    expect(relative.text).toContain('is not an absolute path');
  });
});

describe('apply_patch', () => {
  it('adds, updates, moves and deletes files', async () => {
    const { patch, text, sandbox } = await open({ a: 'one\ntwo\nthree\n', b: 'gone\n', c: 'x\n' });
    const result = await patch(
      '*** Add File: new/n',
      '+first',
      '+second',
      '*** Update File: a',
      '@@',
      ' one',
      '-two',
      '+2',
      ' three',
      '*** Delete File: b',
      '*** Update File: c',
      '*** Move to: d',
      '@@',
      '-x',
      '+y',
    );
    expect(result.text).toBe('Success. Updated the following files:\nA new/n\nM a\nD b\nM d\n');
    expect([await text('new/n'), await text('a'), await text('d')]).toEqual([
      'first\nsecond\n',
      'one\n2\nthree\n',
      'y\n',
    ]);
    expect([await sandbox.files.stat('b'), await sandbox.files.stat('c')]).toEqual([undefined, undefined]);
  });

  it('changes nothing if a part does not fit', async () => {
    const { patch, text, sandbox } = await open({ a: 'one\n', b: 'two\n' });
    const result = await patch(
      '*** Update File: a',
      '@@',
      '-one',
      '+1',
      '*** Add File: n',
      '+n',
      '*** Update File: b',
      '@@',
      '-none',
      '+x',
    );
    expect(result).toMatchObject({ is_error: true, text: 'b: Invalid Context 0:\nnone' });
    expect(await text('a')).toBe('one\n');
    expect(await sandbox.files.stat('n')).toBeUndefined();
  });

  it.each([
    ['exactly', 'a = 1', 'a = 1'],
    ['without blanks at the end', 'a = 1  ', 'a = 1'],
    ['without blanks on both sides', '    a = 1', 'a = 1'],
    ['with plain signs in place of typographic ones', 'a = \u201c1\u201d \u2013 2', 'a = "1" - 2'],
  ])('finds lines %s', async (_how, line, wanted) => {
    const { patch, text } = await open({ a: `before\n${line}\nafter\n` });
    await patch('*** Update File: a', '@@', ` before`, `-${wanted}`, '+b', ' after');
    expect(await text('a')).toBe('before\nb\nafter\n');
  });

  it('goes behind headers, to the end of the file, and keeps CRLF', async () => {
    const { patch, text } = await open({ a: 'f()\nx\ng()\nx\nx\n', w: 'one\r\ntwo' });
    await patch('*** Update File: a', '@@ g()', '-x', '+y', '@@', '-x', '+last', '*** End of File');
    expect(await text('a')).toBe('f()\nx\ng()\ny\nlast\n');
    await patch('*** Update File: w', '@@', '-two', '+2', '+3');
    expect(await text('w')).toBe('one\r\n2\r\n3\r\n');
  });

  it('refuses absolute paths, paths out of the folder, and what is no patch', async () => {
    const { patch, call } = await open();
    expect((await patch('*** Add File: /tmp/x', '+x')).text).toContain('has to be relative');
    expect((await patch('*** Add File: ../x', '+x')).text).toContain('leads out of');
    expect((await call('apply_patch', { input: 'diff' })).text).toContain("must be '*** Begin Patch'");
  });
});

describe('files', () => {
  it('reads, writes and edits in the words of the tool set that models know', async () => {
    const { call, text } = await open();
    expect((await call('write', { file_path: 'd/a', content: 'x $1 x\ny\n' })).text).toBe('wrote 9 bytes to d/a');
    expect((await call('read', { file_path: 'd/a', view_range: [2, 2] })).text).toBe('y');
    expect((await call('edit', { file_path: 'd/a', old_string: 'x', new_string: '$&' })).text).toBe(
      'edit: old_string appears 2 times in d/a (must be unique)',
    );
    expect((await call('edit', { file_path: 'd/a', old_string: 'x', new_string: '$&', replace_all: true })).text).toBe(
      'edited d/a (2 replacement(s))',
    );
    expect(await text('d/a')).toBe('$& $1 $&\ny\n');
    expect((await call('edit', { file_path: 'd/a', old_string: 'q', new_string: '' })).text).toBe(
      'edit: old_string not found in d/a',
    );
  });

  it('stays in the folder, also where links lead out of it', async () => {
    const { call, at } = await open({ in: 'inside' });
    await symlink('/etc', at('out'));
    await symlink('in', at('link'));
    expect((await call('read', { file_path: 'link' })).text).toBe('inside');
    for (const file_path of ['out/hostname', '../x', '/etc/hostname']) {
      expect(await call('read', { file_path })).toMatchObject({
        is_error: true,
        text: expect.stringContaining('leads out of'),
      });
      expect(await call('write', { file_path, content: '' })).toMatchObject({ is_error: true });
    }
  });

  it('finds files by pattern and lines by expression, in the order of their names', async () => {
    const { call, at } = await open({
      'b.js': 'let x\n',
      'a/c.js': 'none\r\nlet y\r\n',
      'a/d.ts': 'let z',
      '.git/e.js': 'let',
    });
    await mkdir(at('odd'));
    await writeFile(at('odd/new\nline.js'), 'let odd\n');
    await writeFile(at('odd/bin.js'), 'let \0');
    expect((await call('glob', { pattern: '**/*.js' })).text).toBe('a/c.js\nb.js\nodd/bin.js\nodd/new\nline.js');
    expect((await call('glob', { pattern: '*.{js,ts}' })).text).toBe('b.js');
    expect((await call('grep', { pattern: '^let \\w$' })).text).toBe('a/c.js:2:let y\na/d.ts:1:let z\nb.js:1:let x');
    expect((await call('grep', { pattern: 'let', path: 'a' })).text).toBe('a/c.js:2:let y\na/d.ts:1:let z');
    expect((await call('grep', { pattern: 'nowhere' })).text).toBe('no matches');
    expect(await call('grep', { pattern: '(' })).toMatchObject({ is_error: true });
    expect(await call('glob', { pattern: '../*' })).toMatchObject({ is_error: true });
  });
});
