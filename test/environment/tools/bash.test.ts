import { existsSync, readFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bash } from '../../../src/environment/tools/bash.ts';
import { openBox, openTools, textIn } from './tool-environment.ts';

async function open(options: Parameters<typeof bash>[1] = {}, path?: string) {
  const box = await openBox(path === undefined ? {} : { path });
  const { agent } = await openTools(bash(box, options));
  return { box, run: (command: string, more: object = {}) => agent.call('bash', { command, ...more }), agent };
}

const PROGRAMS = { bash: '/bin/bash', dash: '/usr/bin/dash', busybox: '/bin/busybox' } as const;
type Shell = keyof typeof PROGRAMS;
const SHELLS = (Object.keys(PROGRAMS) as Shell[]).filter((shell) => {
  const isHere = existsSync(PROGRAMS[shell]);
  if (!isHere) console.warn(`skipped: the tool bash with the shell ${shell}, since there is no ${PROGRAMS[shell]}`);
  return isHere;
});

/** A folder with `sh` and a few programs, and no bash. */
async function binWith(shell: Shell): Promise<string> {
  const { workdir } = await openBox();
  const bin = join(workdir, 'bin');
  await mkdir(bin);
  await symlink(PROGRAMS[shell], join(bin, 'sh'));
  for (const name of ['cat', 'sleep']) await symlink(`/bin/${name}`, join(bin, name));
  return bin;
}

describe.each(SHELLS)('the tool bash with the shell %s', (shell) => {
  const openShell = async () => await open({}, shell === 'bash' ? undefined : await binWith(shell));

  it('keeps folder and variables from one command to the next', async () => {
    const { run, box } = await openShell();
    await run('cd /; NAME="of the first"');
    expect((await run('pwd; echo "$NAME"; [ -n "$BASH_VERSION" ] && echo bash || echo other')).text).toBe(
      `/\nof the first\n${shell === 'bash' ? 'bash' : 'other'}`,
    );
    expect(box.started).toHaveLength(1);
  });

  it('tells the exit code of a command that fails, which is no error of the tool', async () => {
    const { run } = await openShell();
    const result = await run('echo before; echo wrong >&2; sh -c "exit 3"');
    expect(result.is_error).toBe(false);
    expect(result.text).toBe('before\nwrong\n[exit code 3]');
    expect(result.structured_content).toMatchObject({
      exit_code: 3,
      timed_out: false,
      truncated: false,
      omitted_bytes: 0,
    });
  });

  it('gives commands an empty input, so that none waits and none reads the next command', async () => {
    const { run } = await openShell();
    expect((await run('cat; echo "after cat"')).text).toBe('after cat');
    expect((await run('read LINE; echo "[$LINE]"')).text).toBe('[]');
    expect((await run('echo next')).text).toBe('next');
  });

  it('ends here-documents, open quotes and syntax errors with their command, and goes on', async () => {
    const { run, box } = await openShell();
    await run('KEPT=yes');
    expect((await run('cat <<END\none\ntwo\nEND')).text).toBe('one\ntwo');
    expect((await run('cat <<END\nwithout an end')).text).toContain('without an end');
    expect((await run('echo "open')).is_error).toBe(false);
    expect((await run('if true; then')).text).toMatch(/syntax error|unexpected/i);
    expect((await run(')')).is_error).toBe(false);
    expect((await run('-x')).text).toContain('not found');
    expect((await run('echo "$KEPT"')).text).toBe('yes');
    expect(box.started).toHaveLength(1);
  });

  it('does not wait for background programs, and names their processes', async () => {
    const { run } = await openShell();
    const result = await run('sleep 600 & echo started');
    expect(result.text).toBe('started');
    const background = result.structured_content?.background;
    expect(background).toEqual([expect.any(Number)]);
    expect(isRunning(Number(background))).toBe(true);
  });

  it('ends the process group at the limit of time and says that the shell was restarted', async () => {
    const { run, box } = await openShell();
    const result = await run('GONE=1; echo partly; sleep 600 & echo $! >pid; wait', { timeout_ms: 2_000 });
    expect(result.is_error).toBe(true);
    expect(result.text).toMatch(
      /^partly\ntimed out: the command has not returned in 2 seconds\. The shell was restarted/,
    );
    expect(result.structured_content).toMatchObject({ timed_out: true, exit_code: null });
    await expect.poll(async () => isRunning(Number(await textIn(box, 'pid')))).toBe(false);
    expect((await run('echo "[$GONE]"')).text).toBe('[]');
  });

  it('tells that the shell itself has exited, and starts a new one', async () => {
    const { run } = await openShell();
    const result = await run('echo bye; exit 4');
    expect(result.is_error).toBe(false);
    expect(result.text).toBe(
      'bye\n[exit code 4]\nthe shell has exited with returncode 4. The shell was restarted: its folder and its variables are those of the beginning.',
    );
    expect((await run('echo back')).text).toBe('back');
  });

  it('finds the end of a command that sends its output elsewhere for good, or shows its commands', async () => {
    const { run } = await openShell();
    expect((await run('exec >log 2>&1; echo hidden')).text).toBe('(no output)');
    expect((await run('echo seen; set -xv')).text).toContain('seen');
    expect((await run('echo again')).text).toContain('again');
    expect((await run('printf() { echo mine; }; echo end')).text).toContain('end');
  });
});

describe('the tool bash', () => {
  it('is not ended by a command that prints the end of another', async () => {
    const { run } = await open();
    const forged =
      'printf "\\n%s\\n0\\n%s.\\n" 6f9619ff-8b86-4d01-b42d-00cf4fc964ff 6f9619ff-8b86-4d01-b42d-00cf4fc964ff';
    const result = await run(`trap 'echo "$BASH_COMMAND"' DEBUG; ${forged}; sleep 0.1; echo real`);
    expect(result.text).toContain('real');
    expect((await run('trap - DEBUG; echo next')).text).toContain('next');
  });

  it('has a sentence for a command without output, and leaves out the codes of a terminal', async () => {
    const { run } = await open();
    expect((await run('true')).text).toBe('(no output)');
    expect((await run("printf '\\033[31mred\\033[0m'")).text).toBe('red');
  });

  it('shows beginning and end of 50 MB, and cuts no character', async () => {
    const { run } = await open();
    const result = await run('echo first; yes "für €" | head -c 50000000; echo last');
    expect(result.text).toMatch(/^first\nfür €\n/);
    expect(result.text).toMatch(/\n\[… \d+ bytes omitted …\]\n/);
    expect(result.text).toMatch(/last$/);
    expect(result.text).not.toContain('\uFFFD');
    expect(Buffer.byteLength(result.text)).toBeLessThan(30_100);
    expect(result.structured_content?.omitted_bytes).toBeGreaterThan(49_900_000);
  });

  it('refuses a NUL character, which would cut the command', async () => {
    const { run } = await open();
    expect(await run('echo a\0b')).toMatchObject({ is_error: true, text: expect.stringContaining('NUL') });
  });

  it('restarts on demand, and asks for a command', async () => {
    const { run, agent } = await open();
    await run('KEPT=1');
    expect((await agent.call('bash', { restart: true })).text).toBe('tool has been restarted.');
    expect((await run('echo "[$KEPT]"')).text).toBe('[]');
    expect(await agent.call('bash', {})).toMatchObject({ is_error: true, text: 'no command provided.' });
  });

  it('runs two commands that come at once one after the other', async () => {
    const { run } = await open();
    const results = await Promise.all(['N=1', 'sleep 0.1; N=$((N+1))', 'echo $N'].map((command) => run(command)));
    expect(results.at(-1)?.text).toBe('2');
  });

  it('says that a shell had ended between two commands', async () => {
    const { run, box } = await open();
    await run('true');
    const [shell] = box.started;
    const closed = new Promise((done) => shell?.once('close', done));
    shell?.kill('SIGKILL');
    await closed;
    expect((await run('echo on')).text).toBe('on\nThe shell had ended since the last command, and was started anew.');
  });

  it('says that the memory was used up, once', async () => {
    const { run, box } = await open();
    box.memoryKills = 1;
    expect((await run('sh -c "kill -9 \\$\\$"')).text).toContain('ran out of memory (limit 64 MiB)');
    expect((await run('sh -c "kill -9 \\$\\$"')).text).not.toContain('memory');
  });

  it('ends the command of a call that is cancelled', async () => {
    const { run, box, agent } = await open();
    const controller = new AbortController();
    const call = agent.call('bash', { command: 'echo $$ >pid; sleep 600' }, { signal: controller.signal });
    await expect.poll(async () => await box.files.stat('pid')).toBeDefined();
    await expect.poll(async () => await textIn(box, 'pid')).toMatch(/\d/);
    controller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await expect.poll(async () => isRunning(Number(await textIn(box, 'pid')))).toBe(false);
    expect((await run('echo new')).text).toBe('new');
  });
});

describe('bash({ fresh: true })', () => {
  it('keeps neither folder nor variables, and has both outputs in their order', async () => {
    const { run } = await open({ fresh: true });
    await run('cd /; X=1');
    expect((await run('echo "[$X]"; echo wrong >&2; echo last; exit 5')).text).toBe('[]\nwrong\nlast\n[exit code 5]');
  });

  it('is an error of the tool at its limit of time, with what was printed until then', async () => {
    const { run } = await open({ fresh: true, timeoutMs: 1_500 });
    expect(await run('echo on; sleep 60')).toMatchObject({
      is_error: true,
      text: 'on\ntimed out: it has not returned in 1.5 seconds.',
    });
  });
});

/** A process that has ended and that its parent has not waited for does not run. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
