import { EnvironmentServer } from 'proctor';
import { z } from 'zod';
import { inMemory } from '../../../src/environment/server/in-memory.ts';

/** What happened in the sessions of a `createRoom`, in order. */
export interface RoomLog {
  readonly events: string[];
  opened: number;
}

/** An environment whose calls wait until they are let go, with an answer that has a schema. */
export function createRoom(log: RoomLog = { events: [], opened: 0 }, letGo: () => Promise<void> = async () => {}) {
  return inMemory(() => {
    log.opened += 1;
    const env = new EnvironmentServer({ name: 'room', version: '2.0.0', sessionsPerProcess: 1_000 });
    let notes = 0;
    env.tool('note', { description: 'Writes a note.' }, () => {
      notes += 1;
      log.events.push('noted');
      return notes;
    });
    env.tool('wait', { description: 'Waits.' }, async (_args, { signal }) => {
      log.events.push('waiting');
      const aborted = new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          log.events.push('aborted');
          resolve();
        });
      });
      await Promise.race([letGo(), aborted]);
      return 'waited';
    });
    env.tool('list', {}, () => '[1,2]');
    env.tool('tell', { returns: z.object({ story: z.string() }) }, () => ({ story: 'and then '.repeat(1_000_000) }));
    env.tool('die', {}, () => {
      throw new Error('cause for the log');
    });
    env.tool('hidden', {}, () => 'never');
    env.resource('room://rules', { name: 'rules', mimeType: 'text/markdown' }, () => '# Rules');
    env.resource('room://pages/{id}', { name: 'pages' }, ({ id }) => `Page ${id}`);
    const tools = ['note', 'wait', 'list', 'tell', 'die'];
    env.scenario('plain', { tools }, async function* () {
      const answer: unknown = yield 'Write notes.';
      return { reward: answer === 'done' ? 1 : 0, info: { notes } };
    });
    env.scenario(
      'shaped',
      { tools, answer: z.object({ rooms: z.array(z.object({ id: z.int() })) }), system: 'You count rooms.' },
      async function* () {
        const answer: unknown = yield 'Which rooms?';
        return JSON.stringify(answer) === '{"rooms":[{"id":1}]}';
      },
    );
    env.scenario('loose', { tools, answer: z.record(z.string(), z.unknown()) }, async function* () {
      yield 'Say anything.';
      return 1;
    });
    env.scenario('broken', {}, async function* () {
      await Promise.reject(new Error('no such floor'));
      yield 'Never.';
      return 0;
    });
    return env;
  });
}
