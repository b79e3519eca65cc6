import { describe, expect, it } from 'vitest';
import type { AgentTool, ToolCall, TranscriptMessage } from '../../../src/contract/chat.ts';
import type { Json, JsonSchema } from '../../../src/contract/json.ts';
import type { ChatModel, ReferenceContext, SolutionStepResult } from '../../../src/models/gateway/chat-model.ts';
import { createReferenceModel, isReferenceModel } from '../../../src/models/gateway/reference/reference-models.ts';
import { fitAnswer } from '../../../src/rollout/session/answer.ts';
import { validateJsonSchema } from '../../../src/support/schema/json-schema.ts';
import { toRequest, USER_MESSAGE } from './gateway-model.ts';

const noSolution: ReferenceContext['solution'] = () => Promise.reject(new Error('scenario "x" has no solution'));

function contextOf(
  solution: ReferenceContext['solution'],
  seed: number | null = null,
  answerSchema: JsonSchema | null = null,
): ReferenceContext {
  return { seed, scenario: 'x', answerSchema: () => answerSchema, solution };
}

const add = (by: number) => ({ name: 'add', arguments: { by } });

/** Plays one turn as a rollout does, with each call answered by `answer`. */
async function play(
  model: ChatModel,
  tools: readonly AgentTool[] = [],
  answer: (call: ToolCall) => Partial<Extract<TranscriptMessage, { role: 'tool' }>> = () => ({}),
): Promise<{ calls: ToolCall[]; answer: string | null }> {
  const messages: TranscriptMessage[] = [USER_MESSAGE];
  const calls: ToolCall[] = [];
  for (let step = 0; step < 50; step += 1) {
    const { message, finishReason, usage } = await model.respond(toRequest({ messages, tools }));
    expect(usage).toMatchObject({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cost_usd: null });
    messages.push(message);
    if (message.tool_calls.length === 0) {
      expect(finishReason).toBe('stop');
      return { calls, answer: message.content };
    }
    expect(finishReason).toBe('tool_calls');
    for (const call of message.tool_calls) {
      calls.push(call);
      messages.push({
        role: 'tool',
        tool_call_id: call.id,
        name: call.name,
        content: [{ type: 'text', text: 'ok' }],
        is_error: false,
        ...answer(call),
      });
    }
  }
  throw new Error('The model did not come to an end');
}

describe('the names of reference models', () => {
  it('are those that begin with proctor/', () => {
    expect(['proctor/oracle', 'proctor/nope', 'openai/gpt', 'xproctor/a'].map(isReferenceModel)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('that do not exist are refused with a list of those that do', () => {
    expect(() => createReferenceModel('proctor/nope', contextOf(noSolution))).toThrow(
      expect.objectContaining({
        code: 'model_not_found',
        message:
          'There is no model "proctor/nope": the reference models are proctor/oracle, proctor/noop, proctor/random, proctor/novice, proctor/echo, proctor/forger. Did you mean "proctor/noop"?',
      }),
    );
  });
});

describe('proctor/oracle', () => {
  it('plays a plain solution, one call in each response, and answers', async () => {
    const solution = async () => ({ calls: [add(1), add(2)], answer: 'done', done: true });
    const { calls, answer } = await play(createReferenceModel('proctor/oracle', contextOf(solution)));
    expect(calls.map(({ name, arguments: args }) => ({ name, arguments: args }))).toEqual([add(1), add(2)]);
    expect(new Set(calls.map((call) => call.id)).size).toBe(2);
    expect(answer).toBe('done');
  });

  it.each<[Json, string]>([
    [{ total: 3 }, '{"total":3}'],
    [[1], '[1]'],
    [7, '7'],
    [false, 'false'],
    ['', ''],
    [null, ''],
  ])('answers %j as %j', async (answer, text) => {
    const model = createReferenceModel(
      'proctor/oracle',
      contextOf(async () => ({ calls: [], answer, done: true })),
    );
    expect((await play(model)).answer).toBe(text);
  });

  it('gives a solution that is a generator the results of its calls, one by one', async () => {
    const seen: (readonly SolutionStepResult[])[] = [];
    const solution: ReferenceContext['solution'] = async (results) => {
      seen.push(results);
      if (results.length < 2) return { calls: [add(results.length + 1)], answer: null, done: false };
      return { calls: [], answer: 'done', done: true };
    };
    const { calls, answer } = await play(createReferenceModel('proctor/oracle', contextOf(solution)), [], (call) =>
      call.arguments.by === 1
        ? { content: [{ type: 'text', text: '{"value":1}' }] }
        : { structured_content: { value: 2 } },
    );
    expect(calls.map((call) => call.arguments)).toEqual([{ by: 1 }, { by: 2 }]);
    expect(answer).toBe('done');
    const first = {
      content: [{ type: 'text', text: '{"value":1}' }],
      structured_content: { value: 1 },
      is_error: false,
    };
    const second = { content: [{ type: 'text', text: 'ok' }], structured_content: { value: 2 }, is_error: false };
    expect(seen).toEqual([[], [first], [first, second]]);
  });

  it('asks once for a plain solution, and answers a later turn with the same answer', async () => {
    let asked = 0;
    const solution = async () => {
      asked += 1;
      return { calls: [add(1)], answer: 'done', done: true };
    };
    const model = createReferenceModel('proctor/oracle', contextOf(solution));
    await play(model);
    expect(await play(model)).toEqual({ calls: [], answer: 'done' });
    expect(asked).toBe(1);
  });

  it('fails where it gets no solution, as a fault of the scenario', async () => {
    const model = createReferenceModel('proctor/oracle', contextOf(noSolution));
    await expect(model.respond(toRequest())).rejects.toMatchObject({
      boundary: 'setup',
      code: 'environment_failed',
      message: 'The solution of the scenario "x" failed: scenario "x" has no solution',
    });
  });

  it('plays no further after a call that failed', async () => {
    const solution = async () => ({ calls: [add(1), add(2)], answer: 'done', done: true });
    const model = createReferenceModel('proctor/oracle', contextOf(solution));
    await model.respond(toRequest({ tools: [tool({}, 'add')] }));
    const failed = { content: [{ type: 'text', text: 'no' }], is_error: true, role: 'tool' as const };
    const fault = expect.objectContaining({
      boundary: 'setup',
      message: 'A call of the solution of the scenario "x" failed: add({"by":1}) gave: no',
    });
    expect(() => model.checkResults?.([{ ...failed, tool_call_id: 'oracle_1', name: 'add' }])).toThrow(fault);
    await expect(model.respond(toRequest())).rejects.toEqual(fault);
  });

  it('fails with a solution that neither calls nor ends', async () => {
    const stuck = async () => ({ calls: [], answer: null, done: false });
    const model = createReferenceModel('proctor/oracle', contextOf(stuck));
    await expect(model.respond(toRequest())).rejects.toMatchObject({ boundary: 'setup', code: 'environment_failed' });
  });

  it('rejects with the reason of an aborted signal', async () => {
    const controller = new AbortController();
    const solution: ReferenceContext['solution'] = async (_, signal) => {
      controller.abort(new Error('cancelled'));
      return Promise.reject(new Error(`closed: ${signal.aborted}`));
    };
    const model = createReferenceModel('proctor/oracle', contextOf(solution));
    await expect(model.respond(toRequest({ signal: controller.signal }))).rejects.toThrow('cancelled');
  });
});

describe('proctor/noop', () => {
  it('answers an empty text, whatever it is offered', async () => {
    const model = createReferenceModel('proctor/noop', contextOf(noSolution));
    expect(await play(model, [tool({})])).toEqual({ calls: [], answer: '' });
  });
});

function tool(schema: JsonSchema, name = 'act'): AgentTool {
  return { name, description: '', input_schema: { type: 'object', additionalProperties: false, ...schema } };
}

const properties = (fields: Record<string, unknown>): JsonSchema => ({
  properties: fields,
  required: Object.keys(fields),
});

const ANSWERS: readonly [string, JsonSchema, Json][] = [
  ['a text', { type: 'string' }, ''],
  ['a text of a length', { type: 'string', minLength: 2 }, 'aa'],
  ['a day', { type: 'string', format: 'date' }, '1970-01-01'],
  ['a number', { type: 'number' }, 0],
  ['a number above', { type: 'integer', exclusiveMinimum: 0 }, 1],
  ['a number below', { type: 'integer', maximum: -5 }, -5],
  ['a number around zero', { type: 'integer', minimum: -5, maximum: 5 }, 0],
  ['yes or no', { type: 'boolean' }, false],
  ['nothing', { type: 'null' }, null],
  ['a choice', { enum: ['refund', 'exchange'] }, 'refund'],
  ['a list', { type: 'array', items: { type: 'integer' } }, []],
  ['a list of some', { type: 'array', items: { type: 'integer' }, minItems: 2 }, [0, 0]],
  [
    'an object',
    { ...properties({ total: { type: 'integer' }, by: { $ref: '#/$defs/who' } }), $defs: { who: { type: 'string' } } },
    { total: 0, by: '' },
  ],
  ['an object with an optional property', { type: 'object', properties: { note: { type: 'string' } } }, {}],
  ['a text with a pattern and an example', { type: 'string', pattern: '^#W\\d$', examples: ['#W1'] }, '#W1'],
  ['an alternative whose first cannot be', { anyOf: [{ not: {} }, { const: 7 }] }, 7],
];

describe.each(['proctor/noop', 'proctor/random'])('%s answers', (name) => {
  it.each(ANSWERS)('the smallest value of the answer schema: %s', async (_, schema, value) => {
    const { answer } = await play(createReferenceModel(name, contextOf(noSolution, 1, schema)));
    expect(answer).toBe(typeof value === 'string' ? value : JSON.stringify(value));
    expect(fitAnswer(answer ?? '', schema)).toEqual({ fits: true, answer: value });
  });

  it('an empty text without a schema, and where no value can be found', async () => {
    for (const schema of [null, { type: 'string', pattern: '^[A-Z]{9}$' }, { type: 'nonsense' }]) {
      expect((await play(createReferenceModel(name, contextOf(noSolution, 1, schema)))).answer).toBe('');
    }
  });
});

const SCHEMAS: Record<string, JsonSchema> = {
  'no arguments': {},
  'numbers in bounds': properties({
    narrow: { type: 'integer', minimum: 3, maximum: 4 },
    wide: { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 },
    above: { type: 'number', exclusiveMinimum: 0 },
    below: { type: 'integer', maximum: -5 },
    tight: { type: 'number', minimum: 0.001, maximum: 0.002 },
    stepped: { type: 'number', multipleOf: 0.5, minimum: 0, maximum: 2 },
  }),
  texts: properties({
    exact: { type: 'string', minLength: 5, maxLength: 5 },
    long: { type: 'string', minLength: 100 },
    empty: { type: 'string', maxLength: 0 },
    day: { type: 'string', format: 'date' },
    at: { type: 'string', format: 'date-time' },
    mail: { type: 'string', format: 'email' },
    link: { type: 'string', format: 'uri' },
    key: { type: 'string', format: 'uuid' },
  }),
  choices: properties({
    one: { enum: ['a', 2, null] },
    fixed: { const: 'always' },
    yes: { type: 'boolean' },
    maybe: { type: ['string', 'null'] },
    either: { anyOf: [{ type: 'integer' }, { type: 'array', items: { type: 'boolean' } }] },
    shape: {
      oneOf: [
        { type: 'object', properties: { kind: { const: 'a' }, n: { type: 'integer' } }, required: ['kind', 'n'] },
        { type: 'object', properties: { kind: { const: 'b' } }, required: ['kind'] },
      ],
    },
    both: { allOf: [{ type: 'integer', minimum: 5 }, { maximum: 7 }] },
  }),
  lists: properties({
    some: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 3 },
    unique: { type: 'array', items: { enum: [1, 2, 3] }, uniqueItems: true, minItems: 1 },
    pair: {
      type: 'array',
      prefixItems: [{ type: 'string' }, { type: 'integer' }],
      items: false,
      minItems: 2,
      maxItems: 2,
    },
  }),
  'a default and examples': properties({
    by: { type: 'integer', default: 1 },
    id: { type: 'string', pattern: '^#W\\d{7}$', examples: ['#W1234567'] },
  }),
  'a schema that refers to itself': {
    ...properties({ tree: { $ref: '#/$defs/tree' } }),
    $defs: {
      tree: {
        type: 'object',
        properties: {
          leaf: { type: 'integer' },
          branches: { type: 'array', items: { $ref: '#/$defs/tree' } },
          left: { $ref: '#/$defs/tree' },
          right: { $ref: '#/$defs/tree' },
        },
        required: ['leaf'],
      },
    },
  },
};

describe('proctor/random', () => {
  const randomModel = (seed: number | null) => createReferenceModel('proctor/random', contextOf(noSolution, seed));

  it.each(Object.entries(SCHEMAS))('makes calls that the schema allows: %s', async (_, schema) => {
    const offered = tool(schema);
    for (let seed = 0; seed < 30; seed += 1) {
      const { calls } = await play(randomModel(seed), [offered]);
      expect(calls.length).toBeGreaterThanOrEqual(1);
      expect(calls.length).toBeLessThanOrEqual(8);
      for (const call of calls) {
        expect(call.name).toBe('act');
        expect(validateJsonSchema(offered.input_schema, call.arguments)).toEqual([]);
      }
    }
  });

  it('makes the same calls and answer from the same seed, and others from another', async () => {
    const offered = [tool(SCHEMAS.choices ?? {}, 'one'), tool(SCHEMAS.lists ?? {}, 'two')];
    const played = await Promise.all(
      [7, 7, 8, Number.MAX_SAFE_INTEGER, -7].map((seed) => play(randomModel(seed), offered)),
    );
    expect(played[1]).toEqual(played[0]);
    expect(new Set(played.map((one) => JSON.stringify(one))).size).toBe(4);
  });

  it('leaves arguments that are optional out now and then, and keeps wide numbers small', async () => {
    const offered = tool({ properties: { by: { type: 'integer', minimum: 0, maximum: 60_000 } } });
    const made: Json[] = [];
    for (let seed = 0; seed < 20; seed += 1) {
      made.push(...(await play(randomModel(seed), [offered])).calls.map((call) => call.arguments.by ?? null));
    }
    expect(made).toContain(null);
    const numbers = made.filter((by) => typeof by === 'number');
    expect(numbers.length).toBeGreaterThan(0);
    expect(Math.max(...numbers)).toBeLessThanOrEqual(10);
  });

  it('answers where no tool is offered, or none for which it can make arguments', async () => {
    const impossible = tool(properties({ code: { type: 'string', pattern: '^[A-Z]{9}$' } }));
    const broken = tool(properties({ code: { type: 'nonsense' } }));
    for (const offered of [[], [impossible, broken]]) {
      const { calls, answer } = await play(randomModel(1), offered);
      expect(calls).toEqual([]);
      expect(answer).toBe('');
    }
  });

  it('plays without a seed too', async () => {
    expect((await play(randomModel(null), [tool({})])).answer).toBe('');
  });
});

describe('proctor/novice', () => {
  const solution = async () => ({ calls: [{ name: 'read', arguments: {} }], answer: 'Done.', done: true });
  const playsWell = async (seed: number) => {
    const model = createReferenceModel('proctor/novice', contextOf(solution, seed));
    const { message } = await model.respond(toRequest());
    return message.tool_calls.length > 0;
  };

  it('plays the solution in about one run of three, the same for a seed, and does nothing in the others', async () => {
    const seeds = Array.from({ length: 300 }, (_, seed) => seed);
    const first = await Promise.all(seeds.map(playsWell));
    expect(await Promise.all(seeds.map(playsWell))).toEqual(first);
    const share = first.filter((isWell) => isWell).length / seeds.length;
    expect(share).toBeGreaterThan(0.25);
    expect(share).toBeLessThan(0.42);
  });
});
