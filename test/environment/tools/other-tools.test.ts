import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ToolSet } from '../../../src/environment/authoring/tool-set.ts';
import { computer, type Screen } from '../../../src/environment/tools/computer.ts';
import { exec } from '../../../src/environment/tools/exec.ts';
import { MarkerSplitter } from '../../../src/environment/tools/marker-splitter.ts';
import { memory } from '../../../src/environment/tools/memory.ts';
import { python } from '../../../src/environment/tools/python.ts';
import { shell } from '../../../src/environment/tools/shell.ts';
import { think } from '../../../src/environment/tools/think.ts';
import { openLocalSandbox } from './local-sandbox.ts';
import { withTools } from './tool-environment.ts';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

async function open(add: (sandbox: Awaited<ReturnType<typeof openLocalSandbox>>) => readonly ToolSet[], path?: string) {
  const sandbox = await openLocalSandbox(path);
  const env = await withTools(...add(sandbox));
  opened.push(env, { close: () => sandbox.stop() });
  return { env, call: (name: string, args: Record<string, unknown>) => env.agent.call(name, args as never) };
}

describe('shell', () => {
  it('gives both outputs and the outcome of each command, also after one that ran out of time', async () => {
    const { call } = await open((box) => [shell(box)]);
    const commands = ['echo out; echo err >&2; exit 3', 'sleep 60', 'echo last'];
    const result = await call('shell', { commands, timeout_ms: 500 });
    expect(result.is_error).toBe(false);
    expect(result.structured_content).toMatchObject({
      output: [
        { stdout: 'out\n', stderr: 'err\n', outcome: { type: 'exit', exit_code: 3 } },
        { outcome: { type: 'timeout' }, timed_out: true },
        { stdout: 'last\n', outcome: { type: 'exit', exit_code: 0 } },
      ],
    });
  });
});

describe('exec', () => {
  it('gives a command that still runs an id, to which the agent writes', async () => {
    const { call } = await open((box) => [exec(box)]);
    const started = await call('exec_command', { cmd: 'read line; echo "got $line"; exit 2', yield_time_ms: 250 });
    expect(started.text).toContain('Process running with session ID 1');
    expect(started.structured_content).toMatchObject({ session_id: 1, exit_code: null });
    const done = await call('write_stdin', { session_id: 1, chars: 'hello\n', yield_time_ms: 20_000 });
    expect(done.text).toMatch(/Process exited with code 2\nOutput:\ngot hello\n/);
    expect(done.structured_content).toMatchObject({ exit_code: 2, output: 'got hello\n' });
  });

  it('names the ids that there are for one that is unknown', async () => {
    const { call } = await open((box) => [exec(box)]);
    await call('exec_command', { cmd: 'sleep 60', yield_time_ms: 250 });
    expect((await call('write_stdin', { session_id: 7 })).text).toContain('Unknown session id 7: there are 1');
    const ended = await call('write_stdin', { session_id: 1, chars: '\u0003', yield_time_ms: 20_000 });
    expect(ended.text).toContain('Process exited');
  });

  it('leaves out the middle of a long output, and refuses a terminal in the words of the engine', async () => {
    const { call } = await open((box) => [exec(box)]);
    const long = await call('exec_command', {
      cmd: 'i=0; while [ $i -lt 900 ]; do echo $i; i=$((i+1)); done',
      max_output_tokens: 50,
    });
    expect(long.text).toMatch(/Output:\n0\n1\n[\s\S]*bytes omitted[\s\S]*899\n$/);
    expect(long.structured_content).toMatchObject({ truncated: true, exit_code: 0 });
    expect(await call('exec_command', { cmd: 'true', tty: true })).toMatchObject({
      is_error: true,
      text: 'This engine has no terminals',
    });
  });

  it('keeps 16 commands and no more', async () => {
    const { call } = await open((box) => [exec(box)]);
    await Promise.all(Array.from({ length: 16 }, () => call('exec_command', { cmd: 'sleep 60', yield_time_ms: 250 })));
    expect((await call('exec_command', { cmd: 'true' })).text).toContain('16 commands run already');
  });
});

describe('python and think', () => {
  it('runs code in a new process, whose failure is an observation', async () => {
    const { call } = await open((box) => [python(box), think()]);
    expect((await call('python', { code: 'x = 1\nprint("héllo")' })).text).toBe('héllo');
    const failed = await call('python', { code: 'print(x)' });
    expect(failed.is_error).toBe(false);
    expect(failed.text).toMatch(/NameError[\s\S]*\[exit code 1\]$/);
    expect((await call('think', { thought: 'first this' })).text).toBe('');
  });

  it('says that there is no python3', async () => {
    const bin = await openLocalSandbox();
    opened.push({ close: () => bin.stop() });
    await symlink('/bin/sh', join(bin.workdir, 'sh'));
    const { call } = await open((box) => [python(box)], bin.workdir);
    expect(await call('python', { code: '1' })).toMatchObject({
      is_error: true,
      text: expect.stringContaining('There is no python3 on this computer'),
    });
  });
});

describe('memory', () => {
  it('keeps files for the session, in the words that models know', async () => {
    const { call } = await open(() => [memory()]);
    const run = async (command: string, args: Record<string, unknown>) =>
      (await call('memory', { command, ...args })).text;
    expect(await run('create', { path: '/memories/a/b', file_text: 'one\ntwo\n' })).toBe(
      'File created successfully at: /memories/a/b',
    );
    expect(await run('create', { path: '/memories/a/b', file_text: '' })).toBe('File /memories/a/b already exists');
    expect(await run('view', { path: '/memories/a/b' })).toBe(
      "Here's the content of /memories/a/b with line numbers:\n     1\tone\n     2\ttwo",
    );
    expect(await run('str_replace', { path: '/memories/a/b', old_str: 'two', new_str: '$&' })).toContain(
      'The memory file has been edited.',
    );
    expect(await run('insert', { path: '/memories/a/b', insert_line: 0, insert_text: 'zero' })).toBe(
      'The file /memories/a/b has been edited.',
    );
    expect(await run('rename', { old_path: '/memories/a', new_path: '/memories/c' })).toBe(
      'Successfully renamed /memories/a to /memories/c',
    );
    expect(await run('view', { path: '/memories' })).toMatch(
      /2 levels deep in \/memories.*\n12B\t\/memories\n12B\t\/memories\/c\n12B\t\/memories\/c\/b$/s,
    );
    expect(await run('delete', { path: '/memories' })).toBe('Cannot delete the /memories directory itself');
    expect(await run('delete', { path: '/memories/c' })).toBe('Successfully deleted /memories/c');
    expect(await run('view', { path: '/memories/../etc/passwd' })).toContain('Path must start with /memories');
  });
});

describe('computer', () => {
  it('moves, clicks, scrolls, types and shows the screen', async () => {
    const done: string[] = [];
    const note =
      (name: string) =>
      async (...args: unknown[]) =>
        void done.push([name, ...args.slice(0, -1).map((arg) => JSON.stringify(arg))].join(' '));
    const screen: Screen = {
      width: 800,
      height: 600,
      screenshot: async () => new Uint8Array([1]),
      position: () => ({ x: 1, y: 2 }),
      move: note('move'),
      press: note('press'),
      release: note('release'),
      click: note('click'),
      scroll: note('scroll'),
      type: note('type'),
      key: note('key'),
    };
    const { call } = await open(() => [computer(screen)]);
    expect((await call('computer', { action: 'double_click', coordinate: [5, 6] })).text).toBe('Clicked.');
    expect((await call('computer', { action: 'scroll', scroll_direction: 'up', scroll_amount: 2 })).text).toBe(
      'Scrolled up.',
    );
    expect((await call('computer', { action: 'key', text: 'ctrl+a' })).text).toBe('Pressed ctrl+a.');
    expect((await call('computer', { action: 'cursor_position' })).text).toBe('X=1,Y=2');
    expect((await call('computer', { action: 'screenshot' })).content).toMatchObject([
      { type: 'image', mimeType: 'image/png' },
    ]);
    expect((await call('computer', { action: 'left_click', coordinate: [800, 0] })).text).toContain(
      'outside of the screen',
    );
    expect(done).toEqual(['move {"x":5,"y":6}', 'click "left" 2', 'scroll 0 -200', 'key "ctrl+a" 0']);
  });
});

describe('the splitter of a stream', () => {
  it('finds a marker wherever a chunk ends, and holds back no more than its beginning', () => {
    const found: string[] = [];
    const splitter = new MarkerSplitter(
      '<<>>',
      (bytes) => found.push(bytes.toString()),
      () => found.push('|'),
    );
    for (const chunk of ['a<', '<>', '>b<<', 'c', '<<<>>']) splitter.write(Buffer.from(chunk));
    splitter.end();
    expect(found.join('')).toBe('a|b<<c<|');
  });
});
