import {
  defineTasks,
  EnvironmentServer,
  type Evaluation,
  Hub,
  type Prompt,
  type ScenarioGenerator,
  type SolutionGenerator,
  scenario,
  type ToolContext,
  tool,
} from 'proctor';
import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import type { JsonObject } from '../../../src/contract/json.ts';
import type { StandardSchema } from '../../../src/environment/authoring/schema/schema-types.ts';

const environment = new EnvironmentServer({ name: 'types' });
const Add = z.object({ by: z.number().default(1), note: z.string().optional() });

function solved<const Answer>(answer: Answer) {
  return { calls: [], answer };
}

function call<const Arguments>(args: Arguments) {
  return { name: 'call', arguments: args };
}

async function* readTotal(): SolutionGenerator<{ total: number }> {
  const { text } = yield { name: 'read', arguments: {} };
  return { total: Number(text) };
}

async function* readText() {
  yield { name: 'read', arguments: {} };
  return { total: 'one' };
}

async function* readNothing() {
  yield { name: 'read', arguments: {} };
}

describe('completers', () => {
  it('are checked against the arguments of a prompt and the variables of a template', () => {
    const args = { colour: z.string(), coats: z.number().default(1) };
    environment.prompt('paint', { args, complete: { colour: ['red'], coats: (typed) => [`${typed}0`] } }, () => '');
    // @ts-expect-error there is no such argument
    environment.prompt('paint_wrong', { args, complete: { color: ['red'] } }, () => '');
    environment.resource(
      'paint://{shelf}/{tin}',
      { complete: { tin: (typed, { arguments: { shelf } }) => [`${shelf}${typed}`] } },
      () => '',
    );
    // @ts-expect-error there is no such variable
    environment.resource('paint://{shelf}/{box}', { complete: { tin: ['1'] } }, () => '');
    // @ts-expect-error a completer gives texts
    environment.resource('paint://{room}', { complete: { room: () => [1] } }, () => '');
  });
});

describe('the call style infers', () => {
  it('arguments from every kind of schema', () => {
    environment.tool('zod', { args: Add }, (args, context) => {
      expectTypeOf(args).toEqualTypeOf<{ by: number; note?: string | undefined }>();
      expectTypeOf(context).toEqualTypeOf<ToolContext>();
    });
    environment.tool('shape', { args: { by: z.number(), to: z.enum(['a', 'b']) } }, ({ by, to }) => {
      expectTypeOf(by).toEqualTypeOf<number>();
      expectTypeOf(to).toEqualTypeOf<'a' | 'b'>();
    });
    environment.tool('zod3', { args: z3.object({ by: z3.number() }) }, ({ by }) => {
      expectTypeOf(by).toEqualTypeOf<number>();
    });
    environment.tool('standard', { args: {} as StandardSchema<{ by: string }, { by: number }> }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ by: number }>();
    });
    environment.tool('json', { args: { type: 'object', properties: { by: { type: 'number' } } } }, (args) => {
      expectTypeOf(args).toEqualTypeOf<JsonObject>();
    });
    environment.addTool({
      name: 'object',
      args: Add,
      handler: ({ by }) => {
        expectTypeOf(by).toEqualTypeOf<number>();
      },
    });
    new Hub('setup').tool('seed', { args: { value: z.number() } }, ({ value }) => {
      expectTypeOf(value).toEqualTypeOf<number>();
    });
    environment.prompt('ask', { args: { topic: z.string() } }, ({ topic }) => {
      expectTypeOf(topic).toEqualTypeOf<string>();
      return topic;
    });
    environment.resource('notes://{folder}/{id}', {}, (variables) => {
      expectTypeOf(variables).toEqualTypeOf<{ readonly folder: string; readonly id: string }>();
    });
  });

  it('no argument that does not exist', () => {
    // @ts-expect-error there is no `to`
    environment.tool('extra', { args: Add }, ({ to }) => String(to));
    // @ts-expect-error it takes none
    environment.tool('none', {}, ({ by }) => String(by));
    // @ts-expect-error not a schema
    environment.tool('bad', { args: 'by' }, () => 1);
  });

  it('what a handler returns, from `returns`', () => {
    const returns = z.object({ count: z.number(), unit: z.string().default('m') });
    environment.tool('good', { returns }, () => ({ count: 1 }));
    environment.tool('later', { returns }, async () => ({ count: 1, unit: 'km' }));
    // @ts-expect-error count is a number
    environment.tool('wrong', { returns }, () => ({ count: 'one' }));
    // @ts-expect-error nothing is returned
    environment.tool('nothing', { returns }, () => {});
  });

  it('what a handler returns without `returns`: whatever may be JSON, and nothing that never is', () => {
    interface Row {
      readonly id: string;
      readonly tags?: string[];
    }
    const row: Row = { id: 'a' };
    environment.tool('interface', {}, () => row);
    environment.tool('later', {}, async () => [row]);
    environment.tool('unknown', {}, () => JSON.parse('{}') as unknown);
    environment.tool('fetched', {}, async () => (await fetch('http://127.0.0.1')).json());
    environment.tool('record', {}, () => ({}) as Record<string, unknown>);
    environment.tool('some', { args: Add }, ({ by }) => (by > 1 ? 'many' : undefined));
    environment.tool('nothing', {}, async () => {});
    environment.tool('throws', {}, () => {
      throw new Error('No.');
    });
    environment.tool('date', {}, () => new Date(0));

    // @ts-expect-error JSON has no such value
    environment.tool('symbol', {}, () => Symbol('x'));
    // @ts-expect-error JSON has no such value
    environment.tool('bigint', {}, () => 1n);
    // @ts-expect-error JSON makes {} of a Map
    environment.tool('map', {}, () => new Map([['a', 1]]));
    // @ts-expect-error JSON makes {} of a Map
    environment.tool('later_map', {}, async () => new Map());
    // @ts-expect-error JSON makes {} of a Map
    environment.tool('sometimes', { args: Add }, ({ by }) => (by > 1 ? new Map([['a', by]]) : 'none'));
    // @ts-expect-error JSON makes {} of a Set
    new Hub('setup').tool('set', {}, () => new Set([1]));
    // @ts-expect-error JSON has no functions
    environment.tool('function', {}, () => () => 1);
    // @ts-expect-error JSON has no classes
    environment.tool('class', {}, () => EnvironmentServer);
    // @ts-expect-error JSON makes {} of a Map
    environment.addTool({ name: 'object', args: Add, handler: ({ by }) => new Map([['by', by]]) });
  });

  it('a scenario’s arguments, answer and solution', () => {
    environment.scenario(
      'text',
      { args: Add, solution: ({ by }) => ({ calls: [], answer: by }) },
      async function* ({ by }) {
        expectTypeOf(by).toEqualTypeOf<number>();
        const answer = yield `Add ${by}.`;
        expectTypeOf(answer).toEqualTypeOf<string>();
        return answer === 'done';
      },
    );
    environment.scenario('structured', { answer: z.object({ total: z.number() }) }, async function* () {
      const { total } = yield [{ role: 'user', content: [{ type: 'text', text: 'How much?' }] }];
      expectTypeOf(total).toEqualTypeOf<number>();
      return { reward: total, content: 'Counted.', info: { total } };
    });
    environment.scenario('parts', {}, async function* () {
      yield 'Go.';
      return { subscores: [{ name: 'a', value: 1, weight: 2 }] };
    });
  });

  it('a solution, whose answer is what the answer’s schema takes', () => {
    const answer = z.object({ total: z.number(), unit: z.enum(['m', 'km']).default('m') });
    const summed = async function* () {
      yield 'Sum up.';
      return 1;
    };
    environment.scenario(
      'data',
      { args: Add, answer, solution: ({ by }) => solved({ total: by, unit: 'km' }) },
      summed,
    );
    environment.scenario(
      'choice',
      { answer: z.enum(['a', 'b']), solution: () => ({ calls: [], answer: 'b' }) },
      summed,
    );
    environment.scenario('later', { answer, solution: async () => ({ calls: [], answer: { total: 1 } }) }, summed);
    environment.scenario('read', { answer, solution: () => readTotal() }, summed);
    environment.scenario('open', { solution: () => ({ calls: [] }) }, summed);
    environment.scenario('json', { answer: { type: 'object' }, solution: () => solved({ a: 1 }) }, summed);

    // @ts-expect-error total is a number
    environment.scenario('text', { answer, solution: () => ({ calls: [], answer: { total: 'one' } }) }, summed);
    // @ts-expect-error total is a number
    environment.scenario('args', { args: Add, answer, solution: ({ by }) => solved({ total: String(by) }) }, summed);
    // @ts-expect-error an answer is missing
    environment.scenario('none', { answer, solution: () => ({ calls: [] }) }, summed);
    // @ts-expect-error there is no such choice
    environment.scenario('wrong', { answer: z.enum(['a', 'b']), solution: () => ({ calls: [], answer: 'c' }) }, summed);
    // @ts-expect-error total is a number
    environment.scenario('generator', { answer, solution: () => readText() }, summed);
    // @ts-expect-error the generator gives no answer
    environment.scenario('endless', { answer, solution: () => readNothing() }, summed);
  });

  it('placeholders of a scenario that is made of hub functions', () => {
    const args = { target: z.number(), label: z.string().optional() };
    const setup = { name: 'seed' };
    const evaluate = { name: 'judge' };
    environment.scenario('known', {
      args,
      prompt: 'Count to {{target}}, {{ label }}.',
      setup: { name: 'seed', arguments: { deep: [{ value: '{{target}}' }], count: 1 } },
      evaluate: { name: 'judge', arguments: { given: '{{answer}}', wanted: '{{target}}' } },
    });
    const text: string = 'Count to {{target}}.';
    environment.scenario('string', { args, prompt: text, setup, evaluate });
    environment.scenario('messages', {
      args,
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'Count to {{target}}.' }] }],
      setup,
      evaluate,
    });
    environment.scenario('loose', { args: z.looseObject({}), prompt: 'To {{anything}}.', setup, evaluate });
    const json = {} as JsonObject;
    environment.scenario('json', { args, prompt: 'Go.', setup: { name: 'seed', arguments: json }, evaluate });
    const either = z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]);
    environment.scenario('either', { args: either, prompt: '{{a}}{{b}}', setup, evaluate });

    // @ts-expect-error there is no such argument
    environment.scenario('typo', { args, prompt: 'Count to {{targt}}.', setup, evaluate });
    // @ts-expect-error it takes none
    environment.scenario('none', { prompt: 'Count to {{target}}.', setup, evaluate });
    // @ts-expect-error the answer comes after the prompt
    environment.scenario('early', { args, prompt: 'Say {{answer}}.', setup, evaluate });
    // @ts-expect-error the answer comes after the setup
    environment.scenario('seed', { args, prompt: 'Go.', setup: call({ value: '{{answer}}' }), evaluate });
    // @ts-expect-error there is no such argument
    environment.scenario('judge', { args, prompt: 'Go.', setup, evaluate: call({ deep: ['to {{goal}}'] }) });
    // @ts-expect-error there is no such argument
    environment.scenario('message', { args, prompt: [{ role: 'user', content: '{{goal}}' }], setup, evaluate });
    // @ts-expect-error there is no such option
    environment.scenario('option', { args, prompt: 'Go.', descripton: 'Typo.', setup, evaluate });
  });

  it('a handle whose arguments are those that a caller writes', () => {
    const add = environment.scenario(
      'add',
      { args: { by: z.number(), to: z.number().default(0) } },
      async function* () {
        yield 'Go.';
        return 1;
      },
    );
    expectTypeOf(add.with({ by: 1 }).scenario_args).toEqualTypeOf<{ by: number; to?: number | undefined }>();
    // @ts-expect-error by is required
    add.with({});
    // @ts-expect-error by is required
    add.with();
    // @ts-expect-error by is a number
    add.with({ by: '1' });
    const plain = environment.scenario('plain', {}, async function* () {
      yield 'Go.';
      return 1;
    });
    plain.with();
  });
});

describe('a scenario does not compile', () => {
  it('without a reward', () => {
    // @ts-expect-error the reward is forgotten
    environment.scenario('forgotten', {}, async function* () {
      yield 'Go.';
    });
    environment.scenario(
      'sometimes',
      {},
      // @ts-expect-error the reward is forgotten in one case
      async function* () {
        const answer: string = yield 'Go.';
        if (answer === 'done') return 1;
      },
    );
  });

  it('with a prompt or an evaluation that is none', () => {
    // @ts-expect-error a prompt is text or messages
    environment.scenario('number', {}, async function* () {
      yield 3;
      return 1;
    });
    // @ts-expect-error an evaluation is no text
    environment.scenario('word', {}, async function* () {
      yield 'Go.';
      return 'passed';
    });
    // @ts-expect-error an object needs a reward or subscores
    environment.scenario('empty', {}, async function* () {
      yield 'Go.';
      return { content: 'Good.' };
    });
  });
});

describe('the decorator style checks', () => {
  it('arguments, rewards and places', () => {
    class Good extends EnvironmentServer {
      @tool({ args: Add })
      add({ by }: z.output<typeof Add>, { signal }: ToolContext) {
        return signal.aborted ? 0 : by;
      }

      @tool()
      async read() {
        return 'text';
      }

      @scenario({ args: { target: z.number() } })
      async *count({ target }: { target: number }): ScenarioGenerator {
        const answer = yield `Count to ${target}.`;
        return answer.length;
      }

      @scenario({ answer: z.object({ total: z.number() }) })
      async *sum(): AsyncGenerator<Prompt, Evaluation, { total: number }> {
        const { total } = yield 'Sum up.';
        return total === 3;
      }
    }
    expectTypeOf(Good).toBeConstructibleWith({ name: 'good' });

    class Wrong extends EnvironmentServer {
      // @ts-expect-error by is a number
      @tool({ args: Add })
      add({ by }: { by: string }) {
        return by;
      }

      // @ts-expect-error there is no `to`
      @tool({ args: Add })
      move({ to }: { to: number }) {
        return to;
      }

      // @ts-expect-error JSON makes {} of a Map
      @tool({})
      map() {
        return new Map([['a', 1]]);
      }

      // @ts-expect-error a static method
      @tool({ args: Add })
      static fixed({ by }: z.output<typeof Add>) {
        return by;
      }

      // @ts-expect-error a private method
      @tool({})
      #hidden() {
        return 1;
      }

      // @ts-expect-error the reward is missing
      @scenario({})
      async *forgotten() {
        yield 'Go.';
      }

      // @ts-expect-error the answer is text
      @scenario({})
      async *structured(): ScenarioGenerator<{ total: number }> {
        const { total } = yield 'Sum up.';
        return total;
      }

      // @ts-expect-error a scenario is a generator
      @scenario({})
      async plain() {
        return 1;
      }

      reach() {
        return this.#hidden();
      }
    }
    expectTypeOf(Wrong).toBeConstructibleWith({ name: 'wrong' });

    class NoEnvironment {
      // @ts-expect-error not in an environment
      @tool({})
      read() {
        return 1;
      }
    }
    expectTypeOf(NoEnvironment).toBeConstructibleWith();
  });
});

describe('tasks of a scenario', () => {
  const run = async function* () {
    yield 'go';
    return 1;
  };
  const args = { order: z.enum(['A1', 'A2']), amount: z.int().default(10) };

  it('are typed by its arguments, defaults may be left out', () => {
    environment.scenario('typed', { args, tasks: [{ id: 'a', args: { order: 'A1' }, split: 'test' }] }, run);
    environment.scenario('given', { args, tasks: () => [{ id: 'a', args: { order: 'A2' as const, amount: 3 } }] }, run);
    environment.scenario('later', { args, tasks: async () => [{ id: 'a', args: { order: 'A2' as const } }] }, run);
    environment.scenario('none', { tasks: [{ id: 'a' }, { id: 'b', args: {}, tags: ['x'], cluster: 'c' }] }, run);
    environment.scenario('defaulted', { args: { by: z.int().default(1) }, tasks: [{ id: 'a' }] }, run);
    environment.scenario('standard', { args: Add, tasks: [{ id: 'a', args: { by: 2, note: 'x' } }] }, run);
    environment.scenario(
      'plain',
      { args: { type: 'object', properties: {} }, tasks: [{ id: 'a', args: { any: [1] } }] },
      run,
    );
  });

  it('have no other arguments, and no other fields', () => {
    // @ts-expect-error the order is required
    environment.scenario('missing', { args, tasks: [{ id: 'a', args: {} }] }, run);
    // @ts-expect-error arguments are required where one of them is
    environment.scenario('without', { args, tasks: [{ id: 'a' }] }, run);
    // @ts-expect-error there is no such order
    environment.scenario('wrong', { args, tasks: [{ id: 'a', args: { order: 'A3' } }] }, run);
    // @ts-expect-error a function gives the same
    environment.scenario('wrong_given', { args, tasks: () => [{ id: 'a', args: { order: 'A3' } }] }, run);
    // @ts-expect-error there is no such split
    environment.scenario('split', { tasks: [{ id: 'a', split: 'dev' }] }, run);
    // @ts-expect-error a task has no such field
    environment.scenario('field', { tasks: [{ id: 'a', tag: 'x' }] }, run);
    // @ts-expect-error a task needs an id
    environment.scenario('nameless', { tasks: [{ args: {} }] }, run);
  });

  it('leave the arguments of the generator as they were', () => {
    environment.scenario('inferred', { args, tasks: [{ id: 'a', args: { order: 'A1' } }] }, async function* (given) {
      expectTypeOf(given).toEqualTypeOf<{ order: 'A1' | 'A2'; amount: number }>();
      yield 'go';
      return 1;
    });
  });

  it('are typed in both other styles', () => {
    environment.scenario('hub', {
      args,
      tasks: [{ id: 'a', args: { order: 'A1' } }],
      prompt: 'Go {{order}}',
      setup: { name: 'seed' },
      evaluate: { name: 'grade' },
    });
    class Decorated extends EnvironmentServer {
      @scenario({ args: Add, tasks: [{ id: 'a' }, { id: 'b', args: { by: 3 } }] })
      async *add({ by }: z.output<typeof Add>): ScenarioGenerator {
        yield `Add ${by}`;
        return 1;
      }

      // @ts-expect-error by is a number
      @scenario({ args: Add, tasks: [{ id: 'a', args: { by: 'x' } }] })
      async *wrong({ by }: z.output<typeof Add>): ScenarioGenerator {
        yield `Add ${by}`;
        return 1;
      }
    }
    expectTypeOf(Decorated).toBeConstructibleWith({ name: 'x' });
  });
});

describe('the tasks of a module', () => {
  it('are checked, as a list and as a function', () => {
    defineTasks([{ id: 'a', env: 'e', scenario: 's' }]);
    defineTasks(async () => [{ id: 'a', env: 'e', scenario: 's', args: { any: [1, { b: null }] }, split: 'test' }]);
    // @ts-expect-error a task needs its scenario
    defineTasks([{ id: 'a', env: 'e' }]);
    // @ts-expect-error steps are a number
    defineTasks(() => [{ id: 'a', env: 'e', scenario: 's', max_steps: 'many' }]);
  });
});
