import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ProcessLimits } from './sandbox/run-process.ts';
import { command, connect, gone, kinds, running, say } from './test-workspace.ts';

const MEBIBYTE = 1024 * 1024;
const limits: ProcessLimits = {
  timeMs: 20_000,
  memoryBytes: 160 * MEBIBYTE,
  processes: 12,
  outputBytes: MEBIBYTE,
  keptOutputBytes: 2_048,
};

describe.each(kinds)('run_command with the sandbox %s', (sandbox) => {
  const session = () => connect({ sandbox, limits: { command: limits } });

  it('runs in the work directory, and gives both outputs in their order and the exit code', async () => {
    const client = await session();
    await say(client, 'write_file', { path: 'a.js', content: 'console.log(6 * 7);\n' });
    expect(await command(client, 'ls; node a.js; echo wrong >&2; echo last; exit 3')).toMatchObject({
      exit_code: 3,
      stopped: null,
      output: 'a.js\n42\nwrong\nlast\n',
    });
    await command(client, 'echo made > b.txt');
    expect(await say(client, 'read_file', { path: 'b.txt' })).toEqual({ text: 'made\n', isError: false });
  });

  it('has Node, the same as the environment, and its test runner', async () => {
    const client = await session();
    await say(client, 'write_file', {
      path: 'a.test.mjs',
      content: "import { test } from 'node:test';\ntest('works', () => {});\n",
    });
    expect(await command(client, 'node --version')).toMatchObject({ output: `${process.version}\n` });
    expect((await command(client, 'node --test')).output).toContain('# pass 1');
  });

  it('reads nothing from an input that is empty', async () => {
    expect(await command(await session(), 'cat; echo end')).toMatchObject({ output: 'end\n', exit_code: 0 });
  });

  it('is ended with all that it started when its time is over', async () => {
    const mark = randomUUID();
    const report = await command(await session(), `sh -c 'sleep 300; echo ${mark}' & sleep 300`, 400);
    expect(report).toMatchObject({ exit_code: null, stopped: 'It ran longer than 400 ms.' });
    await gone(mark);
  });

  it('leaves nothing running when it ends', async () => {
    const mark = randomUUID();
    const report = await command(await session(), `sh -c 'sleep 300; echo ${mark}' & echo started`);
    expect(report).toMatchObject({ exit_code: 0, output: 'started\n' });
    await gone(mark);
  });

  it('is ended by its memory, however it is divided', async () => {
    const client = await session();
    const one = await command(client, `node -e 'const kept = []; for (;;) kept.push(Buffer.alloc(1e6, 1))'`);
    expect(one.exit_code).not.toBe(0);
    expect(one.stopped ?? one.output).toMatch(/memory|heap|allocation/i);
    const half = `node -e 'const kept = Buffer.alloc(70e6, 1); setTimeout(() => kept, 60000)'`;
    const many = await command(client, `${half} & ${half} & ${half} & wait`);
    expect(many).toMatchObject({ exit_code: null, stopped: expect.stringContaining('bytes of memory') });
  });

  it('is ended when it starts too many processes', async () => {
    const report = await command(await session(), 'for i in $(seq 40); do sleep 60 & done; wait');
    expect(report).toMatchObject({ exit_code: null, stopped: expect.stringContaining('processes') });
  });

  it('shows the beginning and the end of a long output, and says how much is cut', async () => {
    const { output } = await command(await session(), 'echo first; seq 20000; echo last');
    expect(output).toMatch(/^first\n1\n2\n[\s\S]*\n\[\.\.\. \d+ bytes cut here \.\.\.\]\n[\s\S]*\n20000\nlast\n$/);
    expect(output.length).toBeLessThan(2_200);
  });

  it('is ended when it writes without end', async () => {
    const report = await command(await session(), 'yes');
    expect(report).toMatchObject({ exit_code: null, stopped: 'It wrote more than 1048576 bytes.' });
  });

  it('cannot write a file without end', async () => {
    const { output } = await command(await session(), 'head -c 100000000 /dev/zero > large; stat -c %s large');
    expect(output).toMatch(/^(?!100000000)\d+\n$/m);
    expect(output).not.toContain('100000000');
  });

  it('is ended when the call is aborted', async () => {
    const client = await session();
    const mark = randomUUID();
    const abort = new AbortController();
    const call = client.call('run_command', { command: `sleep 300; echo ${mark}` }, { signal: abort.signal });
    const rejected = expect(call).rejects.toThrow('enough');
    await running(mark);
    abort.abort(new Error('enough'));
    await rejected;
    await gone(mark);
    expect(await command(client, 'echo more')).toMatchObject({ output: 'more\n' });
  });

  it('is ended when the session is closed', async () => {
    const client = await session();
    const mark = randomUUID();
    const call = client.call('run_command', { command: `sleep 300; echo ${mark}` }).catch(() => {});
    await running(mark);
    await client.close();
    await call;
    await gone(mark);
  });

  it('refuses a fifth command at once', async () => {
    const client = await session();
    const abort = new AbortController();
    const marks = Array.from({ length: 4 }, () => randomUUID());
    const { signal } = abort;
    const calls = marks.map((mark) => client.call('run_command', { command: `sleep 300; : ${mark}` }, { signal }));
    const ended = Promise.allSettled(calls);
    await Promise.all(marks.map((mark) => running(mark)));
    expect(await say(client, 'run_command', { command: 'true' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('4 commands'),
    });
    abort.abort();
    await ended;
    await Promise.all(marks.map((mark) => gone(mark)));
  });

  it('gets no variable of the environment and no descriptor but its own', async () => {
    const { output } = await command(await session(), "env | sed 's/=.*//' | sort; ls /proc/self/fd");
    const shell = ['OLDPWD', 'PWD', 'SHLVL', '_'];
    const [variables, descriptors] = [
      output.split('\n').filter((line) => /^[A-Z_]/.test(line)),
      output.match(/^\d+$/gm),
    ];
    expect(variables.filter((name) => !shell.includes(name))).toEqual(['HOME', 'LANG', 'NO_COLOR', 'PATH', 'TERM']);
    const open = await command(await session(), 'for fd in /proc/$$/fd/*; do readlink $fd; done');
    expect(descriptors?.length).toBeGreaterThan(2);
    expect(
      open.output.split('\n').filter((line) => line !== '' && !/^(\/dev\/null|socket:.*|pipe:.*)$/.test(line)),
    ).toEqual([]);
  });

  it.each([
    [{ command: '' }, 'command'],
    [{ command: 'true', timeout_ms: 20_001 }, 'timeout_ms'],
    [{ command: 'true', timeout_ms: 0 }, 'timeout_ms'],
    [{ command: 'true', cwd: '/' }, 'cwd'],
  ])('refuses %j by name', async (args, field) => {
    const result = await (await session()).call('run_command', args);
    expect(result.is_error).toBe(true);
    expect(JSON.stringify(result.content)).toContain(field);
  });
});
