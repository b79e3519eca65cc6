import { join } from 'node:path';
import { openEnvironment, scriptedModel } from 'proctor/testing';
import { expect, it } from 'vitest';
import desk, { patient } from '../../docs/examples/conversation.ts';
import { configSchema } from '../../src/service/config/config-schema.ts';
import { ROOT } from './documents.ts';

it('the passenger of conversation.ts begins, and the reward is that of the records', async () => {
  await using env = await openEnvironment(desk);
  const model = scriptedModel([{ toolCalls: [{ name: 'move', arguments: {} }] }, 'You fly later now.']);
  const user = scriptedModel(['The later flight, please.', '###STOP###']);
  const trace = await env.run('passenger', {}, { model, user });
  expect(trace).toMatchObject({ reward: 1, turns: [{ messages: [{ content: 'The later flight, please.' }] }] });
});

it('the evaluation of conversation.ts gives the score of its judge', async () => {
  await using env = await openEnvironment(desk);
  const judge = scriptedModel(() => '{"score": true, "reason": "A child gets it."}');
  const trace = await env.run('explain', {}, { model: scriptedModel(() => 'A cat in a cat.'), judge });
  expect(trace.evaluation).toMatchObject({ reward: 1, info: { reasons: ['A child gets it.'] } });
});

it('the user of conversation.ts that is code ends after four texts', () => {
  expect([patient([]), patient([1, 2, 3, 4])]).toEqual(['And then?', null]);
});

it('judged.config.ts is a configuration', async () => {
  const { default: config } = await import(join(ROOT, 'docs/examples/judged.config.ts'));
  expect(configSchema.parse(config).models).toEqual({ user: 'gpt-5-mini', judge: 'gpt-5' });
});
