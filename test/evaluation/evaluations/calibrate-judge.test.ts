import { describe, expect, it } from 'vitest';
import { calibrateJudge } from '../../../src/evaluation/evaluations/report/calibrate-judge.ts';
import { readLabelledCases } from '../../../src/evaluation/evaluations/report/labelled-cases.ts';
import type { ChatModel } from '../../../src/models/gateway/chat-model.ts';

const line = (fields: object) =>
  JSON.stringify({ id: 'a', rubric: 'Polite?', material: 'Hello.', label: true, ...fields });

describe('labelled cases', () => {
  it.each([
    ['no JSON', 'nope', 'cases.jsonl:1: it is not JSON'],
    ['a missing field', '{"id":"a"}', 'cases.jsonl:1: rubric'],
    ['an unknown field', line({ lable: 1 }), 'cases.jsonl:1'],
    ['a label of another scale', line({ label: 3 }), 'cases.jsonl:1: label: 3 is neither true nor false'],
    ['a label beyond its scale', line({ scale: { min: 1, max: 5 }, label: 6 }), 'label: 6 is not from 1 to 5'],
    ['an id that is there twice', `${line({})}\n\n${line({})}`, 'cases.jsonl:3: id: "a" is the id of line 1 too'],
    ['no case', '\n', 'cases.jsonl holds no case'],
    ['two kinds of scales', `${line({})}\n${line({ id: 'b', scale: { min: 0, max: 1 }, label: 0 })}`, 'two files'],
  ])('are refused with file, line and field for %s', (_what, text, message) => {
    expect(() => readLabelledCases(text, 'cases.jsonl')).toThrow(message);
  });
});

it('are refused with all lines that are wrong, and 20 at most', () => {
  const text = [line({ label: 3 }), line({}), 'nope', ...Array.from({ length: 30 }, () => '{}')].join('\n');
  const read = () => readLabelledCases(text, 'cases.jsonl');
  expect(read).toThrow(/^cases.jsonl:1: label: 3 .*\ncases.jsonl:3: it is not JSON/);
  expect(read).toThrow(/cases.jsonl:21: id: .*\nand 12 more$/);
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

  it('goes on after a case that cannot be judged, and names it', async () => {
    const judge = votingModel();
    const picky: ChatModel = {
      name: 'judge',
      respond: async (request) => {
        if (String(request.messages[0]?.content).includes('no no no no no')) throw new Error('I refuse');
        return await judge.respond(request);
      },
    };
    const { signal } = new AbortController();
    const calibration = await calibrateJudge({ cases, createModel: () => picky, concurrency: 2, signal });
    expect(calibration).toMatchObject({ cases: 3, failed: [{ id: 'bad', message: 'I refuse' }] });
  });

  it('gives up where no case can be judged, and names the first', async () => {
    let calls = 0;
    const broken: ChatModel = {
      name: 'judge',
      respond: () => {
        calls += 1;
        return Promise.reject(new Error('away'));
      },
    };
    const many = Array.from({ length: 50 }, (_, index) => line({ id: String(index) })).join('\n');
    const options = { createModel: () => broken, concurrency: 1, signal: new AbortController().signal };
    const calibrating = calibrateJudge({ ...options, votes: 1, cases: readLabelledCases(many, 'cases.jsonl') });
    await expect(calibrating).rejects.toThrow('The case "0" could not be judged: away');
    expect(calls).toBe(3);
  });

  it('counts what each number of votes has cost, and asks no more votes than it is told', async () => {
    const { signal } = new AbortController();
    const all = await calibrateJudge({ cases, createModel: votingModel, concurrency: 2, signal });
    expect(all.by_votes.map(({ cost_usd }) => cost_usd)).toEqual(
      [0.04, 0.12, 0.2].map((usd) => expect.closeTo(usd, 12)),
    );
    const few = await calibrateJudge({ cases, createModel: votingModel, concurrency: 2, votes: 3, signal });
    expect(few.by_votes).toMatchObject([
      { votes: 1, cost_usd: expect.closeTo(0.04, 12) },
      { votes: 3, cost_usd: expect.closeTo(0.12, 12) },
    ]);
  });

  it('stops at once when it is told to', async () => {
    const stop = new AbortController();
    const silent: ChatModel = { name: 'judge', respond: () => new Promise(() => {}) };
    const calibrating = calibrateJudge({ cases, createModel: () => silent, concurrency: 2, signal: stop.signal });
    const stopped = expect(calibrating).rejects.toThrow('Stopped by SIGINT');
    stop.abort(new Error('Stopped by SIGINT'));
    await stopped;
  });
});

/** Agreement, kappa and its interval of 60 made cases, computed apart from this code (a table, and brute force over pairs). */
const KNOWN = {
  boolean: [
    [0.65, 0.2657342657342658, 0.01253854352625261, 0.518929987942279],
    [0.6833333333333333, 0.30656934306569344, 0.048819379728619716, 0.5643193064027672],
    [0.7833333333333333, 0.5255474452554745, 0.29727657818193276, 0.7538183123290162],
  ],
  scale: [
    [0.8, 0.7469879518072288, 0.5054153953287502, 0.9885605082857073],
    [0.95, 0.904376012965966, 0.7370656539865167, 1.0716863719454155],
    [1, 0.9198813056379842, 0.7651433735430456, 1.0746192377329227],
  ],
};

describe('the figures of 60 cases', () => {
  const indices = Array.from({ length: 60 }, (_, index) => index);
  const fives = [0, 1, 2, 3, 4];
  const yesOrNo = indices.map((i) => {
    const label = (i * 7) % 10 < 6;
    const votes = fives.map((v) => (i * 13 + v * 29 + Math.floor((i * i) / 3)) % 17 < (label ? 11 : 8));
    return line({ id: `${i}`, label, material: votes.map((vote) => (vote ? 'yes' : 'no')).join(' ') });
  });
  const numbers = indices.map((i) => {
    const label = 1 + ((i * 7) % 5);
    const votes = fives.map((v) => Math.min(5, Math.max(1, label + ((i * 11 + v * 5) % 4) - 1)));
    return line({ id: `${i}`, label, scale: { min: 1, max: 5 }, material: votes.join(' ') });
  });

  it.each([
    ['yes and no', yesOrNo, KNOWN.boolean],
    ['numbers', numbers, KNOWN.scale],
  ])('of %s are those of an independent computation', async (_what, lines, known) => {
    const { by_votes } = await calibrateJudge({
      cases: readLabelledCases(lines.join('\n'), 'cases.jsonl'),
      createModel: votingModel,
      concurrency: 7,
      signal: new AbortController().signal,
    });
    const figures = by_votes.map(({ agreement, kappa, kappa_ci95 }) => [agreement, kappa, ...(kappa_ci95 ?? [])]);
    expect(figures).toEqual(known.map((row) => row.map((figure) => expect.closeTo(figure, 10))));
  });
});

/** Vote i is the word number i of the material. */
function votingModel(): ChatModel {
  return {
    name: 'judge',
    respond: async ({ messages, sampling }) => {
      const text = String(messages[0]?.role === 'user' ? messages[0].content : '');
      const words = /\n=====[0-9a-f]{32}=====\n(.*)\n=====/.exec(text)?.[1]?.split(' ') ?? [];
      const word = words[Number(sampling.seed) - 1] ?? '';
      const score = /\d/.test(word) ? Number(word) : word === 'yes';
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
