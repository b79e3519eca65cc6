import { expect, it } from 'vitest';
import { memory } from '../../../src/environment/tools/memory.ts';
import { openTools } from './tool-environment.ts';

async function open() {
  const { agent } = await openTools(memory());
  return async (command: string, args: object) => await agent.call('memory', { command, ...args });
}

it('the tool memory keeps files below /memories', async () => {
  const call = await open();
  expect((await call('view', { path: '/memories' })).text).toContain('\n0B\t/memories');
  expect((await call('create', { path: '/memories/a/b.txt', file_text: 'one\ntwo\n' })).text).toBe(
    'File created successfully at: /memories/a/b.txt',
  );
  await call('create', { path: '/memories/a/deep/er/c.txt', file_text: '1' });
  await call('create', { path: '/memories/.hidden', file_text: '' });
  expect((await call('view', { path: '/memories' })).text).toBe(
    "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n9B\t/memories\n9B\t/memories/a\n8B\t/memories/a/b.txt\n1B\t/memories/a/deep",
  );
  expect((await call('view', { path: '/memories/a/b.txt' })).text).toBe(
    "Here's the content of /memories/a/b.txt with line numbers:\n     1\tone\n     2\ttwo\n     3\t",
  );
  expect((await call('view', { path: '/memories/a/b.txt', view_range: [2, 2] })).text).toMatch(/:\n {5}2\ttwo$/);
});

it('the tool memory edits, inserts, renames and deletes', async () => {
  const call = await open();
  const path = '/memories/a.txt';
  await call('create', { path, file_text: 'one\ntwo\n' });
  expect((await call('str_replace', { path, old_str: 'two', new_str: '$&' })).text).toBe(
    'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tone\n     2\t$&\n     3\t',
  );
  expect((await call('insert', { path, insert_line: 1, insert_text: 'new\n' })).text).toBe(
    'The file /memories/a.txt has been edited.',
  );
  expect((await call('rename', { old_path: path, new_path: '/memories/b/c.txt' })).text).toBe(
    'Successfully renamed /memories/a.txt to /memories/b/c.txt',
  );
  expect((await call('view', { path: '/memories/b/c.txt' })).text).toContain('1\tone\n     2\tnew\n     3\t$&');
  expect((await call('delete', { path: '/memories/b' })).text).toBe('Successfully deleted /memories/b');
  expect((await call('view', { path: '/memories/b/c.txt' })).is_error).toBe(true);
});

it.each([
  ['create', { path: '/memories/a.txt', file_text: '' }, 'File /memories/a.txt already exists'],
  ['create', { path: '/memories/a.txt/b', file_text: '' }, '/memories/a.txt is a file'],
  ['create', { path: '/memories/b.txt', file_text: 'x'.repeat(5_000_000) }, 'which is its limit'],
  ['create', { path: '/memories/../etc/passwd', file_text: '' }, 'Path must start with /memories'],
  ['view', { path: '/etc' }, 'Path must start with /memories'],
  ['view', { path: '/memories/none' }, 'The path /memories/none does not exist. Please provide a valid path.'],
  ['delete', { path: '/memories' }, 'Cannot delete the /memories directory itself'],
  ['rename', { old_path: '/memories/a.txt', new_path: '/memories/other.txt' }, 'already exists'],
  ['str_replace', { path: '/memories/a.txt', old_str: 'x' }, 'Multiple occurrences of old_str `x` in lines: 1, 2.'],
  ['str_replace', { path: '/memories/a.txt', old_str: 'y' }, 'did not appear verbatim in /memories/a.txt.'],
  ['insert', { path: '/memories/a.txt', insert_line: 9, insert_text: '' }, 'Invalid `insert_line` parameter: 9.'],
  ['insert', { path: '/memories/a.txt', insert_text: '' }, 'Invalid `insert_line` parameter'],
  ['rename', { old_path: '/memories/a.txt' }, 'Parameter `new_path` is required for command: rename'],
])('the tool memory refuses %s with %j', async (command, args, problem) => {
  const call = await open();
  await call('create', { path: '/memories/a.txt', file_text: 'x\nx' });
  await call('create', { path: '/memories/other.txt', file_text: '' });
  const result = await call(command, args);
  expect(result.is_error).toBe(true);
  expect(result.text).toContain(problem);
});
