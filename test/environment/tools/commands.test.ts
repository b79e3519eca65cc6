import { describe, expect, it } from 'vitest';
import { python } from '../../../src/environment/tools/python.ts';
import { shell } from '../../../src/environment/tools/shell.ts';
import { think } from '../../../src/environment/tools/think.ts';
import { openBox, openTools } from './tool-environment.ts';

describe('the tool shell', () => {
  it('gives both outputs and the end of each command, and goes on after one that ran out of time', async () => {
    const { agent } = await openTools(shell(await openBox()));
    const commands = ['echo out; echo err >&2; exit 2', 'echo partly; sleep 60', 'cd /; pwd', 'cat; echo read'];
    const result = await agent.call('shell', { commands, timeout_ms: 1_500, max_output_length: 100 });
    expect(result.is_error).toBe(false);
    expect(result.structured_content).toMatchObject({
      max_output_length: 100,
      output: [
        { stdout: 'out\n', stderr: 'err\n', outcome: { type: 'exit', exit_code: 2 } },
        { stdout: 'partly\n', outcome: { type: 'timeout' } },
        { stdout: '/\n', outcome: { type: 'exit', exit_code: 0 } },
        { stdout: 'read\n', outcome: { type: 'exit', exit_code: 0 } },
      ],
    });
    expect(JSON.parse(result.text)).toEqual(result.structured_content);
  });

  it('says how much of a long output is missing', async () => {
    const { agent } = await openTools(shell(await openBox()));
    const result = await agent.call('shell', { commands: ['printf 0123456789'], max_output_length: 4 });
    expect(result.structured_content).toMatchObject({
      output: [{ stdout: '01\n[… 6 bytes omitted …]\n89', truncated: true, omitted_bytes: 6 }],
    });
  });
});

describe('the tool python', () => {
  it('runs a program in a new process, with quotes and several lines, and gives both outputs in order', async () => {
    const { agent } = await openTools(python(await openBox()));
    const code = `import sys\nfor text in ["it's", '"$HOME"']:\n    print(text, flush=True)\nprint('wrong', file=sys.stderr)\nsys.exit(3)`;
    expect(await agent.call('python', { code })).toMatchObject({
      is_error: false,
      text: `it's\n"$HOME"\nwrong\n[exit code 3]`,
    });
    expect((await agent.call('python', { code: 'print("text" in globals())' })).text).toBe('False');
  });

  it('says in words that the sandbox has no python3', async () => {
    const box = await openBox({ path: '/nowhere:/usr/sbin-none' });
    const shellOnly = Object.assign(Object.create(box), {
      exec: (command: readonly string[], options: object) =>
        box.exec(command[0] === 'sh' ? ['/bin/sh', ...command.slice(1)] : command, options),
    });
    const { agent } = await openTools(python(shellOnly));
    expect(await agent.call('python', { code: 'print(1)' })).toMatchObject({
      is_error: true,
      text: expect.stringContaining('no python3'),
    });
  });
});

it('the tool think gives nothing and needs no sandbox', async () => {
  const { agent } = await openTools(think());
  expect(await agent.call('think', { thought: 'I should look first.' })).toMatchObject({ is_error: false, text: '' });
});
