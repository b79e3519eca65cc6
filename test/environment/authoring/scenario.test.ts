import { EnvironmentServer, image, type Prompt, type ScenarioGenerator } from 'proctor';
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

  it.each([
    ['Now say no.', 'it gave "Now say no."'],
    [[{ role: 'user', content: 'Now say no.' }], 'it gave [{"role":"user"'],
    [undefined, 'it gave undefined'],
  ])('that yields %j a second time is told that this yield is the mistake', async (second, gave) => {
    const environment = newEnvironment();
    environment.scenario('twice', {}, async function* () {
      yield 'Say yes.';
      yield second as never;
      return 1;
    });
    const playing = play(environment, 'twice', {}, 'yes');
    await expect(playing).rejects.toThrow(
      /^Scenario "twice": the second yield has to be the evaluation, .* One yield gives the whole prompt, and `return` the evaluation/,
    );
    await expect(playing).rejects.toThrow(gave);
  });

  it('has its environment as `this`', async () => {
    class Exam extends EnvironmentServer {
      readonly word = 'hello';

      constructor() {
        super({ name: 'exam' });
        this.scenario('say', {}, async function* (this: Exam) {
          const answer = yield `Say ${this.word}.`;
          return answer === this.word;
        });
      }
    }
    expect(await play(new Exam(), 'say', {}, 'hello')).toMatchObject({ evaluation: { reward: 1 } });
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
    [{ sum: 3 }, 'sum: is not a field that exists; total: is required'],
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
