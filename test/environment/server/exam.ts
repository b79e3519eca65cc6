import { EnvironmentServer, Hub, image, ToolError } from 'proctor';
import { z } from 'zod';

/** An environment with something of everything. What its code does is written down in `events`. */
export function createExam(events: string[] = []): () => EnvironmentServer {
  return () => {
    const env = new EnvironmentServer({ name: 'exam', version: '1.2.3', instructions: 'Count.', title: 'The exam' });
    let count = 0;

    env.tool('increment', { description: 'Counts.', args: { by: z.int().default(1) } }, ({ by }) => {
      count += by;
      return { count };
    });
    env.tool('crash', {}, () => {
      throw new Error('secret cause');
    });
    env.tool('refuse', {}, () => {
      throw new ToolError('Not on Sundays');
    });
    env.tool('picture', {}, () => image('aGk=', 'image/png'));
    env.tool('echo', { args: z.looseObject({}) }, (args) => args);
    env.tool('meta', {}, (_args, { meta, session }) => ({ meta, session: { ...session } }));
    env.tool('log', {}, (_args, { log }) => {
      log('told');
      log.warning('warned');
    });
    env.tool('steps', {}, async (_args, { progress }) => {
      for (const step of [10.7, 10.2, 5, 50, Number.NaN]) progress(step, undefined, `at ${step}`);
      progress(100, 200);
      setTimeout(() => progress(150), 5);
    });
    env.tool('flood', {}, (_args, { progress }) => {
      for (let step = 0; step < 5_000; step += 1) progress(step, 5_000, 'x'.repeat(1_000));
    });
    env.tool('pause', {}, () => new Promise<void>((resolve) => setTimeout(resolve, 20)));
    env.tool('wait', {}, async (_args, { signal }) => {
      events.push('waiting');
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      events.push('aborted');
    });
    env.tool('ask', {}, async (_args, { elicit }) => {
      const schema = { type: 'object', properties: { ok: { type: 'boolean' } } };
      return (await elicit({ message: 'Sure?', requestedSchema: schema })) as object;
    });
    env.tool('sample', {}, async (_args, { sample }) =>
      sample({ messages: [{ role: 'user', content: 'Say hi' }], maxTokens: 10 }),
    );

    env.mount(
      new Hub('notes', { audience: 'agent', description: 'Notes.' }).tool(
        'add',
        { args: { text: z.string() } },
        ({ text }) => `added ${text}`,
      ),
    );
    env.mount(new Hub('vault', { audience: 'harness' }).tool('open', {}, () => 'gold'));
    env.mount(new Hub('setup').tool('reset', {}, () => 'reset'));

    env.scenario(
      'count_to',
      {
        description: 'Count to a number.',
        args: { target: z.int().min(0).describe('How far'), label: z.string().default('x') },
        tools: ['increment'],
        system: 'You count.',
        solution: ({ target }) => ({ calls: [{ name: 'increment', arguments: { by: target } }], answer: 'done' }),
      },
      async function* ({ target }) {
        try {
          count = 0;
          yield `Count to ${target}.`;
          return count === target ? 1 : 0;
        } finally {
          events.push('closed count_to');
        }
      },
    );
    env.scenario(
      'walk',
      {
        solution: async function* () {
          try {
            const first = yield { name: 'increment', arguments: { by: 1 } };
            const second = yield { name: 'increment', arguments: { by: Number(first.content.length) + 1 } };
            return `saw ${JSON.stringify(second.structured_content)}`;
          } finally {
            events.push('closed solution');
          }
        },
      },
      async function* () {
        yield 'Walk.';
        return 1;
      },
    );
    env.scenario('break_setup', {}, async function* () {
      events.push('breaking');
      if (events.length > 0) throw new Error('no database');
      yield 'Never.';
      return 1;
    });
    env.scenario('break_evaluation', {}, async function* () {
      yield 'Answer.';
      throw new Error('no judge');
    });
    env.scenario('hang', {}, async function* (_args, { signal }) {
      try {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
        yield 'Late.';
        return 1;
      } finally {
        events.push('closed hang');
      }
    });

    env.resource('exam://rules', { description: 'The rules.' }, () => 'No cheating.');
    env.resource('exam://bytes', {}, () => new Uint8Array([1, 2, 3]));
    env.resource('exam://items/{id}', {}, ({ id }) => ({ id }));
    env.resource('exam://key', { audience: 'harness' }, () => 'the answers');
    env.resource('exam://broken', {}, () => {
      throw new Error('secret cause');
    });
    env.prompt('greet', { args: { name: z.string() } }, ({ name }) => `Hello ${name}`);
    env.prompt('grading', { audience: 'harness' }, () => 'Grade it.');

    env.initialize(({ meta, session, progress }) => {
      events.push(
        `initialize ${meta.display_width}x${meta.display_height} ${session.protocol} ${session.client?.name}`,
      );
      for (const key of Object.keys(meta)) if (key.includes('key')) events.push(`leaked ${key}`);
      progress(10);
      progress(90);
    });
    env.close(() => {
      events.push('close 1');
    });
    env.close(() => {
      events.push('close 2');
    });
    env.shutdown(() => {
      events.push('shutdown 1');
    });
    env.shutdown(() => {
      events.push('shutdown 2');
    });
    return env;
  };
}
