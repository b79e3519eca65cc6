import { describe, expect, it } from 'vitest';
import { calibrateJudge, readLabelledCases } from '../../src/evaluations/calibrate-judge.ts';
import type { ChatModel } from '../../src/model/chat-model.ts';

const line = (fields: object) =>
  JSON.stringify({ id: 'a', rubric: 'Polite?', material: 'Hello.', label: true, ...fields });

describe('labelled cases', () => {
  it.each([
    ['no JSON', 'nope', 'cases.jsonl:1: it is not JSON'],
    ['a missing field', '{"id":"a"}', 'cases.jsonl:1: rubric'],
    ['an unknown field', line({ lable: 1 }), 'cases.jsonl:1'],
    ['a label of another scale', line({ label: 3 }), 'cases.jsonl:1: label: 3 is neither true nor false'],
    ['a label beyond its scale', line({ scale: { min: 1, max: 5 }, label: 6 }), 'label: 6 is not from 1 to 5'],
    ['an id that is there twice', `${line({})}\n\n${line({})}`, 'cases.jsonl:3: id: "a" is there already'],
    ['no case', '\n', 'cases.jsonl holds no case'],
    ['two kinds of scales', `${line({})}\n${line({ id: 'b', scale: { min: 0, max: 1 }, label: 0 })}`, 'two files'],
  ])('are refused with file, line and field for %s', (_what, text, message) => {
    expect(() => readLabelledCases(text, 'cases.jsonl')).toThrow(message);
  });
});

describe('a calibration', () => {
  const cases = readLabelledCases(
    [
      line({ id: 'good', material: 'yes yes yes yes yes' }),
      line({ id: 'bad', material: 'no no no no no', label: false }),
      line({ id: 'split', material: 'no yes yes yes yes' }),
      line({ id: 'wrong', material: 'yes yes yes yes yes', label: false }),
    ].join('\n'),
    'cases.jsonl',
  );

  it('asks five votes once and compares the first, the first three and all with the labels', async () => {
    let calls = 0;
    const options = {
      cases,
      createModel: () => {
        calls += 1;
        return votingModel();
      },
      concurrency: 2,
      signal: new AbortController().signal,
    };
    const { by_votes } = await calibrateJudge(options);
    expect(calls).toBe(20);
    expect(by_votes.map(({ votes, agreement }) => [votes, agreement])).toEqual([
      [1, 0.5],
      [3, 0.75],
      [5, 0.75],
    ]);
    expect(by_votes[0]?.disagreements.map(({ id }) => id)).toEqual(['split', 'wrong']);
    expect(by_votes[2]?.disagreements).toEqual([
      { id: 'wrong', label: false, score: 1, reasons: ['vote 1', 'vote 2', 'vote 3', 'vote 4', 'vote 5'] },
    ]);
    expect(by_votes[2]?.kappa).toBeCloseTo(0.5, 12);
  });

  it('names the case that could not be judged', async () => {
    const broken: ChatModel = { name: 'judge', respond: () => Promise.reject(new Error('away')) };
    const options = { cases, createModel: () => broken, concurrency: 1, signal: new AbortController().signal };
    await expect(calibrateJudge(options)).rejects.toThrow('The case "good" could not be judged: away');
  });
});

/** Vote i is the word number i of the material. */
function votingModel(): ChatModel {
  return {
    name: 'judge',
    respond: async ({ messages, sampling }) => {
      const text = String(messages[0]?.role === 'user' ? messages[0].content : '');
      const words = /\n=====[0-9a-f]{32}=====\n(.*)\n=====/.exec(text)?.[1]?.split(' ') ?? [];
      const score = words[Number(sampling.seed) - 1] === 'yes';
      const content = JSON.stringify({ score, reason: `vote ${sampling.seed}` });
      return {
        message: { role: 'assistant', content, reasoning: null, tool_calls: [] },
        finishReason: 'stop',
        usage: {
          prompt_tokens: 1,
          completion_tokens: 1,
          total_tokens: 2,
          cached_tokens: 0,
          reasoning_tokens: 0,
          cost_usd: 0.01,
        },
        retries: 0,
        tokenIds: null,
        logprobs: null,
      };
    },
  };
}
