import { EnvironmentServer, Hub, image, type Prompt, type ScenarioGenerator } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { contextOf, definitionOf, startScenario } from './fixtures.ts';

const newEnvironment = () => new EnvironmentServer({ name: 'exam' });

/** Runs a scenario from setup to evaluation. */
async function play(environment: EnvironmentServer, name: string, args: unknown, answer: unknown) {
  const run = await startScenario(environment, name, args);
  try {
    return { prompt: await run.prompt(), evaluation: await run.evaluate(answer) };
  } finally {
    await run.close();
  }
}

function echo(prompt: unknown): EnvironmentServer {
  const environment = newEnvironment();
  environment.scenario('echo', {}, async function* () {
    yield prompt as Prompt;
    return 1;
  });
  return environment;
}

describe('a scenario', () => {
  it('yields its prompt, receives the answer, and returns the evaluation', async () => {
    const environment = newEnvironment();
    environment.scenario('say', { args: { word: z.string().default('hello') } }, async function* ({ word }) {
      const answer = yield `Say ${word}.`;
      return answer === word ? 1 : 0;
    });
    expect(await play(environment, 'say', {}, 'hello')).toMatchObject({
      prompt: [{ role: 'user', content: 'Say hello.' }],
      evaluation: { reward: 1 },
    });
    expect(await play(environment, 'say', { word: 'bye' }, 'hello')).toMatchObject({ evaluation: { reward: 0 } });
  });

  it('may yield its evaluation a second time instead, and its finally runs then', async () => {
    const environment = newEnvironment();
    let cleaned = 0;
    async function* twoYields() {
      try {
        const answer: unknown = yield 'Say yes.';
        yield answer === 'yes';
      } finally {
        cleaned += 1;
      }
    }
    environment.scenario('yes', {}, twoYields as unknown as () => ScenarioGenerator);
    for (const [answer, reward] of [
      ['yes', 1],
      ['no', 0],
    ] as const) {
      const run = await startScenario(environment, 'yes');
      await run.prompt();
      expect(await run.evaluate(answer)).toMatchObject({ reward });
      expect(cleaned).toBe(1);
      cleaned = 0;
    }
  });

  it('without any evaluation is an error, never a reward', async () => {
    const environment = newEnvironment();
    // @ts-expect-error the evaluation is missing
    environment.scenario('none', {}, async function* () {
      yield 'Do something.';
    });
    await expect(play(environment, 'none', {}, '')).rejects.toMatchObject({ name: 'EvaluationMissingError' });
  });

  it('that ends without a prompt is an error', async () => {
    const environment = newEnvironment();
    // biome-ignore lint/correctness/useYield: what this is about
    environment.scenario('none', {}, async function* () {
      return 1;
    });
    await expect(play(environment, 'none', {}, '')).rejects.toThrow('Scenario "none" ended before it yielded a prompt');
  });

  it('whose function is no generator is an error that says what it should be', async () => {
    const environment = newEnvironment();
    // @ts-expect-error not a generator
    environment.scenario('plain', {}, async () => 1);
    await expect(play(environment, 'plain', {}, '')).rejects.toThrow('Scenario "plain" has to be an async generator');
  });

  it('passes on what its author throws, in either half', async () => {
    const environment = newEnvironment();
    environment.scenario('throws', { args: { half: z.number() } }, async function* ({ half }) {
      if (half === 1) throw new Error('no database');
      yield 'Go.';
      throw new Error('no grader');
    });
    await expect(play(environment, 'throws', { half: 1 }, '')).rejects.toThrow('no database');
    await expect(play(environment, 'throws', { half: 2 }, '')).rejects.toThrow('no grader');
  });

  it('may prompt with messages of text and images', async () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'What is this?' }, image(new Uint8Array([1, 2]), 'image/png')] },
    ];
    const { prompt } = await play(echo(messages), 'echo', {}, '');
    expect(prompt).toEqual([
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', data: 'AQI=', mimeType: 'image/png' },
        ],
      },
    ]);
  });

  it.each([
    [undefined],
    [42],
    [[]],
    [[{ role: 'robot', content: 'x' }]],
    [[{ role: 'user', content: [{ type: 'video' }] }]],
  ])('cannot prompt with %j', async (prompt) => {
    await expect(play(echo(prompt), 'echo', {}, '')).rejects.toThrow('Scenario "echo": the prompt has to be text');
  });

  it('plays each half once, in order', async () => {
    const run = await startScenario(echo('Go.'), 'echo');
    await expect(run.evaluate('')).rejects.toThrow('was not set up');
    await run.prompt();
    await expect(run.prompt()).rejects.toThrow('was set up already');
    await run.evaluate('');
    await expect(run.evaluate('')).rejects.toThrow('was evaluated already');
  });
});

describe('the answer', () => {
  function asking(answer?: z.ZodType) {
    const environment = newEnvironment();
    const received: unknown[] = [];
    environment.scenario('ask', answer === undefined ? {} : { answer }, async function* () {
      received.push(yield 'Well?');
      return 1;
    });
    return { environment, received };
  }

  it.each([
    ['text', 'text'],
    ['', ''],
    [null, ''],
    [undefined, ''],
    [42, '42'],
    [{ a: 1 }, '{"a":1}'],
  ])('without a schema is text: %j is %j', async (given, expected) => {
    const { environment, received } = asking();
    await play(environment, 'ask', {}, given);
    expect(received).toEqual([expected]);
  });

  it('with a schema is read by it, from a value or from JSON text', async () => {
    const { environment, received } = asking(z.object({ total: z.number(), unit: z.string().default('EUR') }));
    await play(environment, 'ask', {}, { total: 3 });
    await play(environment, 'ask', {}, '{"total": 4, "unit": "USD"}');
    expect(received).toEqual([
      { total: 3, unit: 'EUR' },
      { total: 4, unit: 'USD' },
    ]);
    expect(definitionOf(environment).scenarios.get('ask')?.answer?.jsonSchema).toMatchObject({ type: 'object' });
  });

  it('with a schema need not be an object', async () => {
    const { environment, received } = asking(z.number());
    await play(environment, 'ask', {}, '17');
    await play(environment, 'ask', {}, 18);
    expect(received).toEqual([17, 18]);
  });

  it.each([
    ['not JSON', 'schema: expected object, got "not JSON"'],
    ['{"total": "three"}', 'schema: total: expected number, got "three"'],
    [{ sum: 3 }, 'sum: is not an argument that exists; total: is required'],
  ])('that does not fit its schema is a reward of 0 that names the fields: %j', async (given, problem) => {
    const { environment, received } = asking(z.object({ total: z.number() }));
    const { evaluation } = await play(environment, 'ask', {}, given);
    expect(evaluation).toMatchObject({ reward: 0, is_error: true, content: expect.stringContaining(problem) });
    expect(received).toEqual([]);
  });
});

describe('closing a scenario', () => {
  function cleaning(work: (signal: AbortSignal) => Promise<void> = async () => {}) {
    const environment = newEnvironment();
    const events: string[] = [];
    environment.scenario('clean', {}, async function* (_args, { signal }) {
      try {
        yield 'Go.';
        await work(signal);
        return 1;
      } finally {
        events.push('cleaned');
      }
    });
    return { environment, events };
  }

  it('runs the author’s finally once, however often it is closed', async () => {
    const { environment, events } = cleaning();
    const run = await startScenario(environment, 'clean');
    await run.prompt();
    await Promise.all([run.close(), run.close()]);
    await run.close();
    expect(events).toEqual(['cleaned']);
  });

  it('after the evaluation does nothing more', async () => {
    const { environment, events } = cleaning();
    const run = await startScenario(environment, 'clean');
    await run.prompt();
    await run.evaluate('');
    expect(events).toEqual(['cleaned']);
    await run.close();
    expect(events).toEqual(['cleaned']);
  });

  it('before setup runs nothing of the author’s', async () => {
    const { environment, events } = cleaning();
    await (await startScenario(environment, 'clean')).close();
    expect(events).toEqual([]);
  });

  it('waits for a half that is busy, which the aborted signal ends', async () => {
    const { environment, events } = cleaning(
      (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    const abort = new AbortController();
    const run = await startScenario(environment, 'clean', {}, contextOf(abort.signal));
    await run.prompt();
    const evaluated = expect(run.evaluate('')).rejects.toThrow('stop');
    const closed = run.close().then(() => events.push('closed'));
    abort.abort(new Error('stop'));
    await Promise.all([evaluated, closed]);
    expect(events).toEqual(['cleaned', 'closed']);
  });

  it('rejects with what the author’s finally throws, and with a finally that yields', async () => {
    const environment = newEnvironment();
    environment.scenario('throws', {}, async function* () {
      try {
        yield 'Go.';
        return 1;
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: what this is about
        throw new Error('cannot clean');
      }
    });
    environment.scenario('yields', {}, async function* () {
      try {
        yield 'Go.';
        return 1;
      } finally {
        yield 'More?';
      }
    });
    for (const [name, message] of [
      ['throws', 'cannot clean'],
      ['yields', 'yielded in its finally block'],
    ] as const) {
      const run = await startScenario(environment, name);
      await run.prompt();
      await expect(run.close()).rejects.toThrow(message);
    }
  });
});

describe('registering a scenario', () => {
  const go = async function* () {
    yield 'Go.';
    return 1;
  };

  it('keeps what its configuration says', async () => {
    const environment = newEnvironment();
    const config = { description: 'A task.', tools: ['read_*'], system: 'Be brief.', chat: { greeting: 'Hi' } };
    const solution = ({ target }: { target: number }) => ({ calls: [], answer: target });
    environment.scenario('task', { ...config, args: { target: z.number() }, solution }, go);
    const scenario = definitionOf(environment).scenarios.get('task');
    expect(scenario).toMatchObject(config);
    expect(await scenario?.solution?.({ target: 3 })).toEqual({ calls: [], answer: 3 });
  });

  it('refuses a duplicate, a prompt of its name, and a bad name', () => {
    const environment = newEnvironment();
    environment.scenario('task', {}, go);
    expect(() => environment.scenario('task', {}, go)).toThrow('already has a scenario named "task"');
    expect(() => environment.prompt('task', {}, () => 'Hi')).toThrow('already has a scenario named "task"');
    environment.prompt('greet', {}, () => 'Hi');
    expect(() => environment.scenario('greet', {}, go)).toThrow('already has a prompt named "greet"');
    expect(() => environment.scenario('a:b', {}, go)).toThrow('Scenario name "a:b"');
  });

  it.each(['setup', 'evaluate', 'solution'] as const)(
    'refuses the name of a function of the hub %s, whichever comes first',
    (name) => {
      const taken = `already has a scenario and a function of the hub ${name} named "task"`;
      const hub = () => new Hub(name).tool('task', {}, () => 1);
      expect(() => newEnvironment().mount(hub()).scenario('task', {}, go)).toThrow(taken);
      const scenarioFirst = newEnvironment();
      scenarioFirst.scenario('task', {}, go);
      expect(() => scenarioFirst.mount(hub())).toThrow(taken);
      const functionLast = newEnvironment();
      const growing = new Hub(name);
      functionLast.mount(growing).scenario('task', {}, go);
      growing.tool('task', {}, () => 1);
      expect(() => definitionOf(functionLast)).toThrow(taken);
    },
  );

  it('refuses args, an answer, tools or a solution that are none, by name', () => {
    const environment = newEnvironment();
    expect(() => environment.scenario('task', { args: { day: z.date() } }, go)).toThrow(
      'Scenario "task", args, field "day"',
    );
    expect(() => environment.scenario('task', { answer: z.date() }, go)).toThrow('Scenario "task", answer: Date');
    // @ts-expect-error a list
    expect(() => environment.scenario('task', { tools: 'read' }, go)).toThrow('tools has to be a list of patterns');
    // @ts-expect-error a function
    expect(() => environment.scenario('task', { solution: { calls: [] } }, go)).toThrow(
      'solution has to be a function',
    );
    // @ts-expect-error a generator, or hub functions
    expect(() => environment.scenario('task', {})).toThrow('needs an async generator function as its third argument');
    expect(definitionOf(environment).scenarios.size).toBe(0);
  });

  it('gives a handle that makes the fields of a request', () => {
    const environment = newEnvironment();
    const task = environment.scenario('task', { args: { target: z.number() } }, go);
    expect(task.with({ target: 3 })).toEqual({ scenario: 'task', scenario_args: { target: 3 } });
    expect(environment.scenario('plain', {}, go).with()).toEqual({ scenario: 'plain', scenario_args: {} });
  });
});
