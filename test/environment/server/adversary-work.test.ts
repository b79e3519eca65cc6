import { EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { KEY, overMessages } from './adversary-agents.ts';
import { CORE, KINDS } from './adversary-probes.ts';
import { openMemory } from './clients.ts';

/** The names of the adversary's environment, where whatever of the harness's is touched is written down. */
function createTrapped(touched: string[]) {
  const touch = (what: string) => () => {
    touched.push(what);
    return what;
  };
  /** A schema that tells when it reads. */
  const text = (what: string) => z.string().refine(() => touched.push(`schema of ${what}`) > 0);
  const createDeep = () =>
    new EnvironmentServer({ name: 'deep' })
      .tool('dig', { args: { at: text('deep_dig') } }, touch('deep_dig'))
      .resource('deep://plan', {}, touch('deep://plan'))
      .resource('deep://plans/{id}', { complete: { id: () => [touch('completion of deep')()] } }, touch('deep://plans'))
      .prompt('hint', { args: { of: text('deep_hint') } }, touch('deep_hint'))
      .initialize(() => void touched.push('initialize hook of deep'));
  const createTools = () => new EnvironmentServer({ name: 'tools' }).tool('erase', {}, touch('tools_erase'));
  return () => {
    const env = new EnvironmentServer({ name: 'trapped' });
    env.initialize(() => void touched.push('initialize hook'));
    env.tool('look', {}, touch('look'));
    for (const hub of ['setup', 'evaluate', 'evaluation', 'solution', 'vault']) {
      env.mount(new Hub(hub, { audience: 'harness' }).tool('S3CRET_seed', { args: { of: text(hub) } }, touch(hub)));
    }
    const solution = () => ({ calls: [], answer: touch('solution')() });
    env.scenario('count', { args: { target: z.int() }, solution }, async function* () {
      touch('scenario')();
      yield 'Count.';
      return 1;
    });
    const complete = () => [touch('completion')()];
    env.resource('exam://key', { audience: 'harness' }, touch('exam://key'));
    env.resource('exam://keys/{id}', { audience: 'harness', complete: { id: complete } }, touch('exam://keys'));
    env.resource('exam://pages/key', { audience: 'harness' }, touch('exam://pages/key'));
    env.prompt(
      'grading',
      { audience: 'harness', args: { of: text('grading') }, complete: { of: complete } },
      touch('grading'),
    );
    env.connect('deep', { server: createDeep }, { audience: 'harness', prefix: 'deep' });
    env.connect('tools', { server: createTools }, { prefix: 'tools', exclude: ['erase'] });
    return env;
  };
}

describe('the time of an answer', () => {
  it.each(['legacy', 'modern'] as const)(
    'tells nothing of what is hidden: no code of an author, no schema and no connected server has a part in it (%s)',
    { timeout: 60_000 },
    async (era) => {
      const touched: string[] = [];
      const agent = await overMessages(openMemory(createTrapped(touched), { harnessKey: KEY }), era);
      // A session-based handshake runs the hooks, and connects; on 2026-07-28 the first request that needs them does.
      await agent.ask('tools/list');
      touched.length = 0;
      for (const { hidden, toProbes } of KINDS) {
        for (const name of hidden) for (const [method, params] of toProbes(name)) await agent.ask(method, params);
      }
      expect(touched).toEqual([]);
      // The traps do work.
      const used = await agent.ask('tools/call', { name: 'look' });
      expect(used).toContain('look');
      expect(touched).toContain('look');
    },
  );

  it('lets a harness touch all of that, as a proof that the traps are set', async () => {
    const touched: string[] = [];
    const harness = await overMessages(openMemory(createTrapped(touched)), 'legacy', { 'svc/audience': 'harness' });
    const vault = { name: 'vault', arguments: { name: 'S3CRET_seed', arguments: { of: 'it' } } };
    await harness.ask('tools/call', vault);
    await harness.ask('tools/call', { name: 'deep_dig', arguments: { at: 'it' } });
    await harness.ask('prompts/get', { name: 'grading', arguments: { of: 'it' } });
    const read = CORE.filter(({ hidden }) => hidden.includes('grading') || hidden.includes('exam://key'));
    for (const { hidden, toProbes } of read) {
      for (const name of hidden) for (const [method, params] of toProbes(name)) await harness.ask(method, params);
    }
    expect(touched).toEqual(
      expect.arrayContaining(['schema of vault', 'vault', 'schema of deep_dig', 'deep_dig', 'grading', 'exam://key']),
    );
    expect(touched).toEqual(expect.arrayContaining(['completion', 'exam://keys', 'deep://plan', 'deep://plans']));
  });
});
