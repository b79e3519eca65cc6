import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { applyPatch } from '../../../src/environment/tools/apply-patch.ts';
import { openBox, openTools, textIn } from './tool-environment.ts';

async function open(files: Readonly<Record<string, string>>) {
  const box = await openBox();
  for (const [path, content] of Object.entries(files)) await box.files.write(path, content);
  const { agent } = await openTools(applyPatch(box));
  return {
    box,
    text: (path: string) => textIn(box, path),
    patch: (...lines: readonly string[]) =>
      agent.call('apply_patch', { input: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') }),
  };
}

const CODE = 'def a():\n    x = 1\n    return x\n\ndef b():\n    x = 1\n    return x\n';

describe('the tool apply_patch', () => {
  it('adds, changes, moves and removes files, and says which', async () => {
    const { patch, text, box } = await open({ 'a.txt': 'one\ntwo\n', 'old.txt': 'x\n', 'gone.txt': '' });
    const result = await patch(
      '*** Add File: new/file.txt',
      '+first',
      '+',
      '+third',
      '*** Update File: a.txt',
      '@@',
      ' one',
      '-two',
      '+2',
      '*** Update File: old.txt',
      '*** Move to: moved.txt',
      '@@',
      '-x',
      '+y',
      '*** Delete File: gone.txt',
    );
    expect(result).toMatchObject({
      is_error: false,
      text: 'Success. Updated the following files:\nA new/file.txt\nM a.txt\nM moved.txt\nD gone.txt\n',
    });
    expect(await text('new/file.txt')).toBe('first\n\nthird\n');
    expect(await text('a.txt')).toBe('one\n2\n');
    expect(await text('moved.txt')).toBe('y\n');
    expect(await box.files.stat('old.txt')).toBeUndefined();
    expect(await box.files.stat('gone.txt')).toBeUndefined();
  });

  it('applies several hunks, each behind the one before', async () => {
    const { patch, text } = await open({ 'a.py': CODE });
    await patch('*** Update File: a.py', '@@', '-    x = 1', '+    x = 2', '@@', '-    x = 1', '+    x = 3');
    expect(await text('a.py')).toBe(CODE.replace('x = 1', 'x = 2').replace('x = 1', 'x = 3'));
  });

  it('looks for a hunk behind its header, and behind each of several', async () => {
    const { patch, text } = await open({
      'a.py': `class A:\n    def m():\n        pass\nclass B:\n    def m():\n        pass\n`,
    });
    await patch('*** Update File: a.py', '@@ class B:', '@@     def m():', '-        pass', '+        return 1');
    expect(await text('a.py')).toBe(`class A:\n    def m():\n        pass\nclass B:\n    def m():\n        return 1\n`);
  });

  it.each([
    ['to the letter', 'value\n', 'value'],
    ['without blanks at the end', 'value  \n', 'value'],
    ['without blanks on both sides', '\t  value\n', 'value '],
    ['without typographic characters', '  \u201cvalue\u201d \u2013 it\u2019s\u00a0on\n', `"value" - it's on`],
  ])('finds lines %s', async (_pass, file, wanted) => {
    const { patch, text } = await open({ 'a.txt': `before\n${file}after\n` });
    expect((await patch('*** Update File: a.txt', '@@', `-${wanted}`, '+new')).is_error).toBe(false);
    expect(await text('a.txt')).toBe('before\nnew\nafter\n');
  });

  it('takes the strictest match, also behind a looser one', async () => {
    const { patch, text } = await open({ 'a.txt': '  value\nvalue\n' });
    await patch('*** Update File: a.txt', '@@', '-value', '+new');
    expect(await text('a.txt')).toBe('  value\nnew\n');
  });

  it('keeps context lines as the file has them', async () => {
    const { patch, text } = await open({ 'a.txt': '\tfirst  \nold\n\u201clast\u201d\n' });
    await patch('*** Update File: a.txt', '@@', ' first', '-old', '+new', ' "last"');
    expect(await text('a.txt')).toBe('\tfirst  \nnew\n\u201clast\u201d\n');
  });

  it('tries the end of the file first where the hunk says so, and appends a hunk without old lines', async () => {
    const { patch, text } = await open({ 'a.txt': 'x\ny\nx\n' });
    await patch('*** Update File: a.txt', '@@', '-x', '+end', '*** End of File');
    expect(await text('a.txt')).toBe('x\ny\nend\n');
    await patch('*** Update File: a.txt', '@@', '+appended');
    expect(await text('a.txt')).toBe('x\ny\nend\nappended\n');
  });

  it('takes an old block that ends in an empty line which the file does not have', async () => {
    const { patch, text } = await open({ 'a.txt': 'one\ntwo\n' });
    await patch('*** Update File: a.txt', '@@', '-two', '+2', '');
    expect(await text('a.txt')).toBe('one\n2\n');
  });

  it('keeps Windows line breaks and the mode, and ends the file with a line break', async () => {
    const { patch, text, box } = await open({ 'a.txt': 'one\r\ntwo\r\nthree' });
    await chmod(join(box.workdir, 'a.txt'), 0o755);
    await patch('*** Update File: a.txt', '@@', ' one', '-two', '+2');
    expect(await text('a.txt')).toBe('one\r\n2\r\nthree\r\n');
    expect((await box.files.stat('a.txt'))?.mode).toBe(0o755);
  });

  it('changes nothing if one part does not fit, and names the file and the lines', async () => {
    const { patch, text, box } = await open({ 'a.txt': 'one\n', 'b.txt': 'two\n' });
    const result = await patch(
      '*** Add File: new.txt',
      '+x',
      '*** Update File: a.txt',
      '@@',
      '-one',
      '+1',
      '*** Update File: b.txt',
      '@@',
      '-three',
      '+3',
    );
    expect(result).toMatchObject({ is_error: true, text: 'Failed to find expected lines in b.txt:\nthree' });
    expect(await text('a.txt')).toBe('one\n');
    expect(await box.files.stat('new.txt')).toBeUndefined();
  });

  it('puts back what it has written if a file cannot be written', async () => {
    const { patch, text, box } = await open({ 'a.txt': 'one\n', 'b.txt': '' });
    const lines = [
      '*** Update File: a.txt',
      '@@',
      '-one',
      '+1',
      '*** Add File: c.txt',
      '+x',
      '*** Add File: b.txt/in',
      '+y',
    ];
    expect((await patch(...lines)).is_error).toBe(true);
    expect(await text('a.txt')).toBe('one\n');
    expect(await box.files.stat('c.txt')).toBeUndefined();
  });

  it('keeps the mode of a file that it moves, and removes no folder', async () => {
    const { patch, box } = await open({ 'a.sh': 'x\n', 'folder/file': '' });
    await chmod(join(box.workdir, 'a.sh'), 0o755);
    await patch('*** Update File: a.sh', '*** Move to: b.sh');
    expect((await box.files.stat('b.sh'))?.mode).toBe(0o755);
    expect(await patch('*** Delete File: folder')).toMatchObject({ is_error: true });
    expect(await box.files.stat('folder/file')).toBeDefined();
  });

  it('lets two parts change one file', async () => {
    const { patch, text } = await open({ 'a.txt': 'one\ntwo\n' });
    await patch('*** Update File: a.txt', '@@', '-one', '+1', '*** Update File: a.txt', '@@', '-two', '+2');
    expect(await text('a.txt')).toBe('1\n2\n');
  });

  it.each([
    ['an absolute path', ['*** Add File: /etc/x', '+x'], 'must be relative'],
    ['a path out of the folder', ['*** Add File: a/../../x', '+x'], 'must be relative'],
    ['a line of a new file without a plus', ['*** Add File: x', 'x'], "Invalid Add File Line: line 3: 'x'"],
    ['an unknown line in a hunk', ['*** Update File: a.txt', '@@', 'one'], "Invalid Line: line 4: 'one'"],
    ['an update without hunks', ['*** Update File: a.txt'], "Update file hunk for path 'a.txt' is empty"],
    ['an unknown part', ['*** Rename File: a.txt'], 'is not a valid hunk header'],
    ['no part', [], 'The patch changes no file'],
    [
      'a missing file',
      ['*** Update File: none.txt', '@@', '-x', '+y'],
      'Failed to update none.txt: there is no such file',
    ],
    ['a file that is there', ['*** Add File: a.txt', '+x'], 'Failed to add a.txt: it exists already'],
    [
      'a missing header',
      ['*** Update File: a.txt', '@@ def f():', '-one', '+1'],
      "Failed to find context 'def f():' in a.txt",
    ],
    [
      'a move onto a file',
      ['*** Update File: a.txt', '*** Move to: b.txt', '@@', '-one', '+1'],
      'b.txt exists already',
    ],
  ])('refuses %s', async (_name, lines, problem) => {
    const { patch, text } = await open({ 'a.txt': 'one\n', 'b.txt': '' });
    const result = await patch(...lines);
    expect(result.is_error).toBe(true);
    expect(result.text).toContain(problem);
    expect(await text('a.txt')).toBe('one\n');
  });

  it('asks for the first and the last line of a patch', async () => {
    const { agent } = await openTools(applyPatch(await openBox()));
    expect((await agent.call('apply_patch', { input: '--- a\n+++ b' })).text).toContain("must be '*** Begin Patch'");
    expect((await agent.call('apply_patch', { input: '*** Begin Patch\n' })).text).toContain("must be '*** End Patch'");
  });
});
