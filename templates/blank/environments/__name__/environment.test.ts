import { readFileSync } from 'node:fs';
import { expectSound, openEnvironment, scriptedModel } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import environment from './environment.ts';

describe('remember', () => {
  const args = { sentence: 'The key is under the mat.' };

  it('gives its own solution a reward of 1', async () => {
    await using env = await openEnvironment(environment);
    expect(await env.run('remember', args)).toMatchObject({ error: null, reward: 1 });
  });

  it('gives the solution of every task of the taskset a reward of 1', async () => {
    await using env = await openEnvironment(environment);
    const lines = readFileSync(new URL('../../tasksets/sentences.jsonl', import.meta.url), 'utf8')
      .trim()
      .split('\n');
    for (const line of lines) {
      const { scenario, args: given } = JSON.parse(line);
      expect(await env.run(scenario, given)).toMatchObject({ error: null, reward: 1 });
    }
  });

  it('gives an agent that does nothing no reward', async () => {
    await using env = await openEnvironment(environment);
    expect(await env.run('remember', args, { model: 'proctor/noop' })).toMatchObject({ error: null, reward: 0 });
  });

  it('gives a note that says something else no reward', async () => {
    await using env = await openEnvironment(environment);
    const model = scriptedModel([
      { toolCalls: [{ name: 'write_note', arguments: { text: 'The key is lost.' } }] },
      'Done.',
    ]);
    expect(await env.run('remember', args, { model })).toMatchObject({ error: null, reward: 0 });
  });
});

it('has rewards that mean something', { timeout: 60_000 }, async () => {
  await expectSound(environment);
});
