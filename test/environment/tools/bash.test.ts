import { readFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { bash } from '../../../src/environment/tools/bash.ts';
import { type LocalSandbox, openLocalSandbox } from './local-sandbox.ts';
import { withTools } from './tool-environment.ts';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

async function open(options: Parameters<typeof bash>[1] = {}, path?: string) {
  const sandbox: LocalSandbox = await openLocalSandbox(path);
  const env = await withTools(bash(sandbox, options));
  opened.push(env, { close: () => sandbox.stop() });
  return { sandbox, call: (args: Record<string, unknown>) => env.agent.call('bash', args as never) };
}

describe('bash', () => {
  it('keeps folder and variables from one command to the next', async () => {
    const { call } = await open();
    await call({ command: 'mkdir sub; cd sub; NAME=kept; export NAME' });
    expect((await call({ command: 'basename "$PWD"; echo "$NAME"' })).text).toBe('sub\nkept');
  });

  it('tells a failing command as an observation, with its exit code in the text and beside it', async () => {
    const { call } = await open();
    const result = await call({ command: 'echo before; (exit 3)' });
    expect(result.is_error).toBe(false);
    expect(result.text).toBe('before\n[exit code 3]');
    expect(result.structured_content).toMatchObject({
      exit_code: 3,
      timed_out: false,
      truncated: false,
      omitted_bytes: 0,
    });
  });

  it('has a sentence for a command without output', async () => {
    const { call } = await open();
    expect((await call({ command: 'true' })).text).toBe('(no output)');
  });

  it('gives programs that read an empty input, so that none waits and none eats the next command', async () => {
    const { call } = await open();
    expect((await call({ command: 'cat; echo "after cat"' })).text).toBe('after cat');
    expect((await call({ command: 'echo next' })).text).toBe('next');
  });

  it('ends here-documents, open quotes and syntax errors with their command', async () => {
    const { call } = await open();
    expect((await call({ command: 'cat <<END\none\nEND' })).text).toBe('one');
    expect((await call({ command: 'cat <<END\nwithout an end' })).text).toContain('without an end');
    expect((await call({ command: 'echo "open' })).is_error).toBe(false);
    expect((await call({ command: 'if true; then' })).text).toMatch(/syntax error/i);
    expect((await call({ command: 'echo alive' })).text).toBe('alive');
  });

  it('does not take what a command prints for its end, also when the shell prints its commands', async () => {
    const { call } = await open();
    expect((await call({ command: 'set -xv; printf "\\036abc\\n"; echo real' })).text).toContain('real');
    expect((await call({ command: 'echo second' })).text).toContain('second');
    expect((await call({ command: 'set +xv; exec >log 2>&1' })).is_error).toBe(false);
    expect((await call({ command: 'echo third' })).text).toBe('third');
  });

  it('does not wait for background processes, and names them', async () => {
    const { call } = await open();
    const result = await call({ command: 'sleep 60 & echo started' });
    expect(result.text).toBe('started');
    expect((result.structured_content as { background: number[] }).background).toHaveLength(1);
  });

  it('shows beginning and end of a long output, and cuts no character', async () => {
    const { call } = await open();
    const { text, structured_content } = await call({
      command: 'i=0; while [ $i -lt 20000 ]; do echo "é$i"; i=$((i+1)); done',
    });
    expect(text).toMatch(/^é0\n/);
    expect(text).toMatch(/\[… \d+ bytes omitted …\]/);
    expect(text).toMatch(/é19999$/);
    expect(text).not.toContain('\uFFFD');
    expect(text.length).toBeLessThan(30_200);
    expect(structured_content).toMatchObject({ truncated: true });
  });

  it('ends the whole group at the limit, says so, and has a new shell for the next command', async () => {
    const { call, sandbox } = await open();
    const result = await call({ command: 'GONE=1; echo partly; sleep 600 & echo $! > pid; wait', timeout_ms: 500 });
    expect(result.is_error).toBe(true);
    expect(result.text).toMatch(/^partly\ntimed out: .* 0\.5 seconds/);
    expect(result.text).toContain('The shell was restarted');
    expect(result.structured_content).toMatchObject({ timed_out: true, exit_code: null });
    const pid = Number(Buffer.from(await sandbox.files.read('pid')).toString());
    await expect.poll(() => isRunning(pid)).toBe(false);
    expect((await call({ command: 'echo "[$GONE]"' })).text).toBe('[]');
  });

  it('tells the exit of the shell itself, and goes on with a new one', async () => {
    const { call } = await open();
    const result = await call({ command: 'echo bye; exit 4' });
    expect(result.is_error).toBe(false);
    expect(result.text).toMatch(/^bye\nbash has exited with returncode 4\. The shell was restarted/);
    expect((await call({ command: 'echo back' })).text).toBe('back');
  });

  it('restarts on demand, and asks for a command', async () => {
    const { call } = await open();
    await call({ command: 'KEPT=1' });
    expect((await call({ restart: true })).text).toBe('tool has been restarted.');
    expect((await call({ command: 'echo "[$KEPT]"' })).text).toBe('[]');
    expect(await call({})).toMatchObject({ is_error: true, text: 'no command provided.' });
  });

  it('works with sh where there is no bash', async () => {
    const source = await openLocalSandbox();
    const bin = join(source.workdir, 'bin');
    await mkdir(bin);
    for (const name of ['sh', 'cat', 'sleep']) await symlink(`/bin/${name}`, join(bin, name));
    opened.push({ close: () => source.stop() });
    const { call } = await open({}, bin);
    expect((await call({ command: 'X=1; if true; then' })).is_error).toBe(false);
    expect((await call({ command: 'echo "[$BASH_VERSION]"; cat; (exit 2)' })).text).toBe('[]\n[exit code 2]');
  });

  it('says that memory ran out if the kernel ended a process', async () => {
    const { call, sandbox } = await open();
    sandbox.kills = 1;
    const result = await call({ command: 'sh -c "kill -9 \\$\\$"' });
    expect(result.text).toContain('ran out of memory');
    expect(result.structured_content).toMatchObject({ out_of_memory: true, exit_code: 137 });
    expect((await call({ command: 'sh -c "kill -9 \\$\\$"' })).structured_content).toMatchObject({
      out_of_memory: false,
    });
  });

  it('runs calls that come together one after the other', async () => {
    const { call } = await open();
    const texts = await Promise.all(
      ['A=1', 'A=$((A+1))', 'echo $A'].map(async (command) => (await call({ command })).text),
    );
    expect(texts[2]).toBe('2');
  });
});

describe('bash with a new shell for each command', () => {
  it('keeps neither folder nor variables, and merges both outputs in order', async () => {
    const { call } = await open({ fresh: true });
    await call({ command: 'cd /; X=1' });
    expect((await call({ command: 'echo "[$X]"; echo wrong >&2; echo last; exit 5' })).text).toBe(
      '[]\nwrong\nlast\n[exit code 5]',
    );
  });

  it('is an error of the tool at its limit', async () => {
    const { call } = await open({ fresh: true, timeoutMs: 300 });
    expect(await call({ command: 'echo on; sleep 60' })).toMatchObject({
      is_error: true,
      text: expect.stringMatching(/^on\ntimed out/),
    });
  });
});

/** A process that has ended and that nobody has waited for does not run. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
