import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { BoundaryError } from '../../../src/contract/errors.ts';
import type { JudgeRequest } from '../../../src/contract/service/judge.ts';
import type { ModelRequest, ModelResponse } from '../../../src/models/gateway/chat-model.ts';
import { createHarnessSampler } from '../../../src/rollout/session/judge/harness-sampler.ts';
import { judge } from '../../../src/rollout/session/judge/judge.ts';
import { type Line, listRecorder, says, scripted } from './fixtures.ts';

const verdict = (score: boolean | number, reason = 'because') => says(JSON.stringify({ score, reason }));
const USAGE = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6, cached_tokens: 0, reasoning_tokens: 0 };
const paid = (response: ModelResponse, cost_usd = 0.01): ModelResponse => ({
  ...response,
  usage: { ...USAGE, cost_usd },
});
const FIVE = { min: 1, max: 5 };

function ask(lines: readonly Line[], question: Partial<JudgeRequest> = {}, signal = new AbortController().signal) {
  const model = scripted(...lines);
  const request: JudgeRequest = {
    ...{ rubric: 'Polite?', material: 'Hello.', scale: 'boolean', model: null, votes: 1, context: null },
    ...question,
  };
  const judged = judge({ request, createModel: () => model, seedOf: () => undefined, signal });
  judged.catch(() => {}); // Each test looks at it.
  return { judged, model };
}

const textOf = (request: ModelRequest | undefined) => String(request?.messages[0]?.content);

describe('the answer of a judge', () => {
  it.each([
    ['a code fence', '```json\n{"score": true, "reason": "fine"}\n```'],
    ['prose', 'I think so: {"score": true, "reason": "fine"}. That is all.'],
    ['more than was asked for', '{"score": true, "reason": "fine", "confidence": "high"}'],
  ])('is read in %s', async (_where, text) => {
    const { judged, model } = ask([says(text)]);
    expect(await judged).toMatchObject({ score: 1, reasons: ['fine'] });
    expect(model.requests).toHaveLength(1);
  });

  it.each<[string, ModelResponse, Partial<JudgeRequest>, string]>([
    ['empty', says(''), {}, 'it is empty'],
    ['prose alone', says('Good work.'), {}, 'it is not {"score", "reason"}'],
    ['no number', says('{"score": NaN, "reason": "?"}'), { scale: FIVE }, 'it is not {"score", "reason"}'],
    ['an infinite number', says('{"score": 1e999, "reason": "?"}'), { scale: FIVE }, 'it is not {"score", "reason"}'],
    ['without a reason', says('{"score": true}'), {}, 'it is not {"score", "reason"}'],
    ['beyond its scale', verdict(6), { scale: FIVE }, 'score is 6, and not from 1 to 5'],
    ['a number where yes or no is asked', verdict(1), {}, 'score is no boolean'],
    ['yes where a number is asked', verdict(true), { scale: FIVE }, 'score is no number'],
    ['two verdicts', says('{"score": false, "reason": "a"} {"score": true, "reason": "b"}'), {}, 'it is not {"score"'],
    ['10 MB', verdict(true, 'x'.repeat(10_000_000)), {}, 'it has 1000'],
    [
      'cut',
      says('{"score": true, "rea', 'length'),
      {},
      'it is not {"score", "reason"}, since it was cut at the limit of tokens',
    ],
  ])('that is %s is asked for once more, and then said in the error', async (_what, response, question, told) => {
    const mended = ask([response, verdict(question.scale === undefined ? true : 5)], question);
    expect(await mended.judged).toMatchObject({ score: 1 });
    expect(textOf(mended.model.requests[1])).toContain(`Your last answer could not be used: ${told}`);
    const lost = ask([response, response], question);
    await expect(lost.judged).rejects.toThrow(told);
    expect(lost.model.requests).toHaveLength(2);
  });

  it('is not asked for once more after a refusal', async () => {
    const refusal = { ...says(''), message: { ...says('').message, refusal: 'I will not judge this.' } };
    const { judged, model } = ask([refusal as ModelResponse]);
    await expect(judged).rejects.toThrow('The judge scripted refused: I will not judge this.');
    expect(model.requests).toHaveLength(1);
  });

  it('is kept with 4,000 characters of its reason', async () => {
    const { judged } = ask([verdict(true, 'x'.repeat(50_000))]);
    expect((await judged).reasons[0]).toHaveLength(4_001);
  });

  it('may come of a model that takes neither a temperature nor a schema', async () => {
    const refuse = (field: string) => () => {
      throw new BoundaryError('model', 'model_failed', `the gateway answered 400: Unsupported value: ${field}`, {
        status: 400,
      });
    };
    const { judged, model } = ask([refuse("'temperature'"), refuse('response_format'), says('x'), verdict(true)]);
    expect(await judged).toMatchObject({ score: 1 });
    expect(model.requests.map(({ sampling }) => Object.keys(sampling))).toEqual([
      ['temperature', 'response_format'],
      ['response_format'],
      [],
      [],
    ]);
    const other = ask([refuse('model')]);
    await expect(other.judged).rejects.toThrow('400');
  });
});

describe('votes of a judge', () => {
  it('agree as the share of the most frequent one, for numbers as far as the two that are furthest apart', async () => {
    const split = ask([verdict(true), verdict(false), verdict(false), verdict(false)], { votes: 4 });
    expect(await split.judged).toMatchObject({ score: 0.25, agreement: 0.75 });
    const graded = ask([verdict(2), verdict(5), verdict(4)], { votes: 3, scale: FIVE });
    const { score, agreement } = await graded.judged;
    expect([score, agreement]).toEqual([expect.closeTo(2 / 3, 12), expect.closeTo(0.25, 12)]);
  });

  it('are all given up when one fails', async () => {
    const aborted: unknown[] = [];
    const wait = ({ signal }: ModelRequest) =>
      new Promise<ModelResponse>((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(signal.reason);
          reject(signal.reason);
        });
      });
    const { judged } = ask([wait, new Error('away'), wait], { votes: 3 });
    await expect(judged).rejects.toThrow('away');
    expect(aborted).toHaveLength(2);
  });

  it('end with what asked them, also where the model does not listen', async () => {
    const stop = new AbortController();
    const { judged } = ask([() => new Promise<never>(() => {})], {}, stop.signal);
    const ended = expect(judged).rejects.toThrow('over');
    stop.abort(new Error('over'));
    await ended;
  });
});

describe('a sampler of a harness', () => {
  function open(lines: readonly Line[], seed: number | null = null) {
    const recorder = listRecorder();
    const model = scripted(...lines);
    const signal = new AbortController().signal;
    const sample = createHarnessSampler({
      ...{ judgeModel: 'judge', isChosenByRun: false, seed, recorder, signal },
      createModel: () => model,
    });
    const question = (votes: number) => ({
      ...{ purpose: 'judge', system: null, maxTokens: 9, isEvaluating: true, signal },
      messages: [{ role: 'user' as const, content: 'Hello.' }],
      meta: { 'svc/judge': { rubric: 'Polite?', votes } },
    });
    return { recorder, model, sample, question };
  }

  it('gives each vote a seed of its own, derived from that of the run', async () => {
    const { sample, question, model } = open([verdict(true), verdict(true), verdict(true)], 7);
    await sample(question(3));
    const seedOf = (vote: number) => createHash('sha256').update(`7\njudge\n${vote}`).digest().readUInt32BE(0) >>> 1;
    expect(model.requests.map(({ sampling }) => sampling)).toMatchObject(
      [1, 2, 3].map((vote) => ({ seed: seedOf(vote), temperature: 1 })),
    );
  });

  it('records what a judge has cost that gives no verdict', async () => {
    const { sample, question, recorder } = open([paid(verdict(true)), paid(says('Good.')), paid(says('Good.'))]);
    await expect(sample(question(2))).rejects.toThrow('no verdict that fits');
    expect(recorder.of('judge.responded')).toEqual([]);
    expect(recorder.of('judge.failed')).toMatchObject([
      {
        message: expect.stringContaining('twice'),
        rubric: 'Polite?',
        usage: { model_calls: 3, cost_usd: expect.closeTo(0.03, 12) },
      },
    ]);
  });
});
