import { describe, expect, it } from 'vitest';
import { BoundaryError } from '../../../src/contract/errors.ts';
import { fitAnswer } from '../../../src/rollout/session/answer.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import {
  call,
  calls,
  counterClient,
  type Line,
  listRecorder,
  runOptions,
  runRequest,
  says,
  scripted,
} from './fixtures.ts';

const schema = {
  type: 'object',
  properties: { count: { type: 'integer' } },
  required: ['count'],
  additionalProperties: false,
};

describe('the answer that a text stands for', () => {
  it.each([
    ['bare JSON', '{"count": 2}'],
    ['JSON in a code fence', '```json\n{"count": 2}\n```'],
    ['JSON in a fence without a name', ' ```\n{"count": 2}\n``` \n'],
  ])('is the value of %s', (_what, text) => {
    expect(fitAnswer(text, schema)).toEqual({ fits: true, answer: { count: 2 } });
  });

  it('is the text where there is no schema, JSON or not', () => {
    expect(fitAnswer('{"count": 2}', null)).toEqual({ fits: true, answer: '{"count": 2}' });
  });

  it('is the text where the schema takes a text', () => {
    expect(fitAnswer('Paris', { type: 'string' })).toEqual({ fits: true, answer: 'Paris' });
    expect(fitAnswer('5', { type: 'string' })).toEqual({ fits: true, answer: '5' });
  });

  it.each([
    ['', 'it is empty'],
    ['two', 'not valid JSON'],
    ['{"count": "two"}', '`count` must be integer'],
    ['{}', '`count` is required'],
    ['2', 'it must be object'],
    ['['.repeat(10_000) + ']'.repeat(10_000), 'nested more than 128 deep'],
  ])('does not fit in %j, and the problem is named', (text, problem) => {
    expect(fitAnswer(text, schema)).toMatchObject({
      fits: false,
      answer: text,
      problem: expect.stringContaining(problem),
    });
  });
});

describe('a run of a scenario with an answer schema', () => {
  const play = async (lines: readonly Line[], maxSteps = 10) => {
    const client = counterClient({ setup: { answer_schema: schema } });
    const recorder = listRecorder();
    const model = scripted(...lines);
    const request = runRequest({ max_steps: maxSteps });
    const outcome = await executeRun(runOptions(client, model, recorder, { request }));
    return { client, recorder, model, outcome };
  };

  it('submits the JSON of the answer', async () => {
    const { outcome, client, model } = await play([says('{"count": 2}')]);
    expect(outcome).toMatchObject({ status: 'completed', answer: { count: 2 } });
    expect(client.asked).toContain('evaluate {"count":2}');
    expect(model.requests).toHaveLength(1);
  });

  it('asks once more where the answer does not fit, in a turn of its own that is a step', async () => {
    const { outcome, model, recorder } = await play([says('It is two.'), says('{"count": 2}')]);
    expect(outcome).toMatchObject({ status: 'completed', stopReason: 'answered', answer: { count: 2 } });
    const asked = JSON.stringify(model.requests[1]?.messages.at(-1));
    expect(asked).toContain('not valid JSON');
    expect(asked).toContain('required');
    expect(recorder.of('model.responded').map(({ turn, step }) => [turn, step])).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it('submits what there is as text where the second answer does not fit either', async () => {
    const { outcome, model } = await play([says('two'), says('{"count": "two"}')]);
    expect(outcome).toMatchObject({ status: 'completed', stopReason: 'answered', answer: '{"count": "two"}' });
    expect(model.requests).toHaveLength(2);
  });

  it('keeps the first text where the repair brings a call instead', async () => {
    const { outcome, client } = await play([says('two'), calls(call('increment'))]);
    expect(outcome).toMatchObject({ status: 'completed', stopReason: 'answered', answer: 'two' });
    expect(client.count).toBe(1);
  });

  it('does not ask again where max_steps are taken', async () => {
    const { outcome, model } = await play([says('two')], 1);
    expect(outcome).toMatchObject({ status: 'completed', stopReason: 'answered', answer: 'two' });
    expect(model.requests).toHaveLength(1);
  });

  it('is failed by a model that fails in the repair; the first text is evaluated', async () => {
    const failure = new BoundaryError('model', 'model_timeout', 'The gateway did not answer');
    const { outcome, recorder } = await play([says('two'), failure]);
    expect(outcome).toMatchObject({ status: 'failed', reward: null, answer: 'two', error: { code: 'model_timeout' } });
    expect(recorder.of('evaluation.completed')).toHaveLength(1);
  });
});
