import { existsSync } from 'node:fs';
import { expectSound, openEnvironment, scriptedModel } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import environment, { createEnvironment } from './environment.ts';

describe('the working directory', () => {
  it('has files that can be written, read and listed', async () => {
    await using env = await openEnvironment(environment);
    await env.agent.call('write_file', { path: 'src/a.txt', content: 'one' });
    expect((await env.agent.call('read_file', { path: 'src/a.txt' })).text).toBe('one');
    expect(await env.agent.call('list_files')).toMatchObject({ structured_content: { files: ['src/a.txt'] } });
  });

  it.each(['../a.txt', '/etc/passwd', '.'])('does not reach to %s', async (path) => {
    await using env = await openEnvironment(environment);
    const result = await env.agent.call('write_file', { path, content: '' });
    expect(result).toMatchObject({ is_error: true, text: expect.stringContaining('not in the working directory') });
  });

  it('is gone when the session ends', async () => {
    const env = await openEnvironment(environment);
    const { structured_content } = await env.agent.call('run_command', { command: 'pwd' });
    const directory = String(structured_content?.output).trim();
    expect(existsSync(directory)).toBe(true);
    await env.close();
    expect(existsSync(directory)).toBe(false);
  });
});

describe('a command', () => {
  it('gives its output and its exit code', async () => {
    await using env = await openEnvironment(environment);
    const result = await env.agent.call('run_command', { command: 'echo out; echo wrong >&2; exit 3' });
    expect(result.structured_content).toMatchObject({ exit_code: 3, timed_out: false });
    expect(String(result.structured_content?.output).split('\n').sort()).toEqual(['', 'out', 'wrong']);
  });

  it('is ended when its time is over, and cut when it says too much', async () => {
    await using env = await openEnvironment(() => createEnvironment({ timeoutMs: 300, outputLength: 10 }));
    const slow = await env.agent.call('run_command', { command: 'sleep 60 & sleep 60' });
    expect(slow.structured_content).toMatchObject({ exit_code: null, timed_out: true });
    const loud = await env.agent.call('run_command', { command: 'yes | head -c 100000' });
    expect(String(loud.structured_content?.output)).toHaveLength(10);
  });
});

describe('repair', () => {
  it('gives its own solution a reward of 1', async () => {
    await using env = await openEnvironment(environment);
    const trace = await env.run('repair');
    expect(trace).toMatchObject({ error: null, reward: 1 });
    const [, test] = trace.steps.flatMap(({ tool_results }) => tool_results);
    expect(test?.structured_content).toMatchObject({ exit_code: 0 });
  });

  it('gives the solution of every task a reward of 1', async () => {
    await using env = await openEnvironment(environment);
    for (const task of await env.tasks()) expect(await env.run(task)).toMatchObject({ error: null, reward: 1 });
  });

  it('gives an agent that does nothing no reward', async () => {
    await using env = await openEnvironment(environment);
    expect(await env.run('repair', {}, { model: 'proctor/noop' })).toMatchObject({ error: null, reward: 0 });
  });

  it.each([
    ['half a repair', "export const slug = (text) => text.toLowerCase().replaceAll(' ', '-');"],
    ['a program that does not load', 'export const slug ='],
    ['a program that ends early', "console.log('[]'); process.exit(0);"],
  ])('gives %s no reward', async (_, content) => {
    await using env = await openEnvironment(environment);
    const call = { name: 'write_file', arguments: { path: 'slug.js', content } };
    const model = scriptedModel([{ toolCalls: [call] }, 'Done.']);
    expect(await env.run('repair', {}, { model })).toMatchObject({ error: null, reward: 0 });
  });
});

it('has rewards that mean something, as far as commands without a sandbox allow', { timeout: 120_000 }, async () => {
  // A solution may run the tests in other ways, or not at all: only its files are graded.
  await expectSound(environment, { allowWarnings: ['forger', 'grader_strength'] });
});
