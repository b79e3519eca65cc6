import { expectSound, openEnvironment, scriptedModel } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import environment, { createBooking } from './environment.ts';

// A handle knows its arguments: meeting.with({ people: 'six' }) does not compile.
const { meeting } = createBooking();

const book = (room: string) => ({ name: 'book', arguments: { room, from: 9, to: 11, by: 'Ada' } });

describe('the tools', () => {
  it('book a room that is free, once', async () => {
    await using env = await openEnvironment(environment);
    const { name, arguments: args } = book('Hall');
    expect((await env.agent.call(name, args)).text).toBe('Hall is booked for Ada from 9 to 11.');
    expect(await env.agent.call(name, args)).toMatchObject({ is_error: true, text: 'Hall is taken between 9 and 11.' });
  });

  it.each([
    ['a room that does not exist', { room: 'Cellar', from: 9, to: 11 }, 'list_rooms'],
    ['an hour of the night', { room: 'Hall', from: 9, to: 23 }, 'to'],
    ['a time without length', { room: 'Hall', from: 9, to: 9 }, 'no length'],
  ])('refuse %s in words that help', async (_, args, words) => {
    await using env = await openEnvironment(environment);
    const result = await env.agent.call('book', { ...args, by: 'Ada' });
    expect(result).toMatchObject({ is_error: true, text: expect.stringContaining(words) });
  });

  it('have rules that the agent can read', async () => {
    await using env = await openEnvironment(environment);
    expect((await env.agent.read('rooms://rules')).text).toContain('smallest room');
  });
});

describe('meeting', () => {
  it.each([
    { people: 3, from: 12, to: 13 },
    { people: 3, from: 10, to: 12 },
    { people: 6, from: 9, to: 11 },
  ])('gives its own solution for %j a reward of 1', async (args) => {
    await using env = await openEnvironment(environment);
    expect(await env.run(meeting.with(args))).toMatchObject({ error: null, reward: 1 });
  });

  it('gives the solution of every task a reward of 1', async () => {
    await using env = await openEnvironment(environment);
    for (const task of await env.tasks()) expect(await env.run(task)).toMatchObject({ error: null, reward: 1 });
  });

  it('gives an agent that does nothing no reward', async () => {
    await using env = await openEnvironment(environment);
    expect(await env.run(meeting.with(), { model: 'proctor/noop' })).toMatchObject({ error: null, reward: 0 });
  });

  it('gives a room that is too big no reward, and the right one without its name a part', async () => {
    await using env = await openEnvironment(environment);
    const args = meeting.with({ people: 3, from: 12, to: 14 });
    const booking = { name: 'book', arguments: { room: 'Hall', from: 12, to: 14, by: 'Ada' } };
    const wrong = scriptedModel([{ toolCalls: [booking] }, '{"room":"Hall"}']);
    expect(await env.run(args, { model: wrong })).toMatchObject({ error: null, reward: 0 });
    const right = { name: 'book', arguments: { ...booking.arguments, room: 'Attic' } };
    const unsaid = scriptedModel([{ toolCalls: [right] }, '{"room":"Garden"}']);
    expect(await env.run(args, { model: unsaid })).toMatchObject({ error: null, reward: 0.75 });
  });
});

it('has rewards that mean something', { timeout: 60_000 }, async () => {
  await expectSound(environment);
});
