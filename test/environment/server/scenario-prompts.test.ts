import { describe, expect, it } from 'vitest';
import { connectInMemory, errorOf, evaluate, HARNESS, setup, textOf } from './clients.ts';
import { createExam } from './exam.ts';

describe('the prompt of a scenario', () => {
  it('runs setup in the session, with arguments read from text', async () => {
    const client = await connectInMemory(createExam());
    const { messages } = await client.getPrompt({ name: 'count_to', arguments: { target: '3' } });
    expect(messages).toEqual([
      { role: 'user', content: { type: 'text', text: 'You count.' } },
      { role: 'user', content: { type: 'text', text: 'Count to 3.' } },
    ]);
  });

  it('names a bad argument in a protocol error', async () => {
    const client = await connectInMemory(createExam());
    for (const [args, fault] of [
      [{ target: 'three' }, /target/],
      [{}, /target: is required/],
      [{ target: '1', speed: '2' }, /speed/],
    ] as const) {
      const error = await errorOf(client.getPrompt({ name: 'count_to', arguments: args }));
      expect(error.code).toBe(-32602);
      expect(error.message).toMatch(fault);
    }
    const greet = await errorOf(client.getPrompt({ name: 'greet' }));
    expect(greet).toMatchObject({ code: -32602, message: expect.stringMatching(/name: is required/) });
  });

  it('replaces one that a prompt started, and closes it', async () => {
    const events: string[] = [];
    const client = await connectInMemory(createExam(events));
    await client.getPrompt({ name: 'count_to', arguments: { target: '3' } });
    await client.getPrompt({ name: 'walk' });
    expect(events).toContain('closed count_to');
  });

  it('is refused while a scenario of the harness is active, and the other way round', async () => {
    const client = await connectInMemory(createExam(), { meta: HARNESS });
    await setup(client, 'walk');
    const refused = await errorOf(client.getPrompt({ name: 'count_to', arguments: { target: '3' } }));
    expect(refused.message).toContain('walk is active');
    await evaluate(client, 'walk');
    await client.getPrompt({ name: 'count_to', arguments: { target: '0' } });
    expect(textOf(await setup(client, 'walk'))).toContain('count_to is active');
    expect((await evaluate(client, 'count_to')).structuredContent).toMatchObject({ reward: 1 });
  });

  it('tells an agent nothing of why a setup failed', async () => {
    const reports: string[] = [];
    const client = await connectInMemory(createExam(), { report: (text) => reports.push(text) });
    const error = await errorOf(client.getPrompt({ name: 'break_setup' }));
    expect(error.message).toBe('The setup of the scenario break_setup failed');
    expect(reports.join()).toContain('no database');
  });
});
