import { describe, expect, it } from 'vitest';
import { exec } from '../../../src/environment/tools/exec.ts';
import { openBox, openTools } from './tool-environment.ts';

async function open(options: Parameters<typeof openBox>[0] = {}) {
  const { agent } = await openTools(exec(await openBox(options)));
  const write = async (session_id: unknown, chars = '', more: object = {}) =>
    await agent.call('write_stdin', { session_id, chars, ...more });
  return { run: (cmd: string, more: object = {}) => agent.call('exec_command', { cmd, ...more }), write };
}

describe('the tools exec_command and write_stdin', () => {
  it('give the output and the exit code of a command that ends', async () => {
    const { run } = await open();
    const result = await run('echo out; echo err >&2; cat; exit 3', { workdir: '/' });
    expect(result).toMatchObject({ is_error: false, text: 'out\nerr\n[exit code 3]' });
    expect(result.structured_content).toMatchObject({ exit_code: 3, output: 'out\nerr\n' });
    expect(result.structured_content).not.toHaveProperty('session_id');
  });

  it('let a command go on, and interrupt it', async () => {
    const { run, write } = await open();
    const first = await run('echo on; exec sleep 600', { yield_time_ms: 250 });
    expect(first.text).toMatch(/\[the command goes on: session_id 1\]$/);
    expect(first.structured_content).toMatchObject({ session_id: 1, exit_code: null });
    expect((await write(1, 'text')).text).toContain('has no input: start the command with tty true');
    const last = await write(1, '\u0003', { yield_time_ms: 30_000 });
    expect(last.structured_content).not.toHaveProperty('session_id');
    expect(`${first.structured_content?.output}${last.structured_content?.output}`).toBe('on\n');
    expect(await write(1)).toMatchObject({ is_error: true, text: 'There is no session 1. No command runs.' });
  });

  it('speak with a program in a terminal', async () => {
    const { run, write } = await open();
    const first = await run('stty -echo; echo ready; read LINE; echo "<$LINE>"; [ -t 0 ] && exit 7', {
      tty: true,
      yield_time_ms: 1_000,
    });
    const last = await write(first.structured_content?.session_id, 'hello\n', { yield_time_ms: 30_000 });
    expect(`${first.text}\n${last.text}`).toContain('ready\n');
    expect(last.text).toMatch(/<hello>\n\[exit code 7\]$/);
  });

  it('say in words that the sandbox has no terminals', async () => {
    const { run } = await open({ hasTerminals: false });
    expect(await run('true', { tty: true })).toMatchObject({ is_error: true, text: 'This engine has no terminals.' });
  });

  it('show beginning and end of a long output', async () => {
    const { run } = await open();
    const result = await run('echo first; yes | head -c 1000000; echo last', { max_output_tokens: 100 });
    expect(result.text).toMatch(/^first\n[\s\S]*\[… \d+ bytes omitted …\]\n[\s\S]*last$/);
    expect(result.text.length).toBeLessThan(500);
    expect(result.structured_content).toMatchObject({ truncated: true });
  });

  it('keep sixteen commands, and name those that run', async () => {
    const { run, write } = await open();
    await Promise.all(Array.from({ length: 16 }, () => run('exec sleep 600', { yield_time_ms: 250 })));
    expect((await run('true')).text).toMatch(/^16 commands run, which is the limit: end one of 1, 2, .*16 with/);
    expect((await write(99)).text).toContain('Commands that run have the ids 1, 2,');
    expect((await write(5, '\u0003', { yield_time_ms: 30_000 })).structured_content).not.toHaveProperty('session_id');
    expect((await run('echo room')).text).toBe('room');
  });
});
