import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TaskInput } from '../../src/contract/task.ts';
import { createRedactor } from '../../src/support/redaction/redactor.ts';
import { temporaryDirectory } from '../service/runs/service.ts';
import { type AskedBody, type Said, startPlayed, stepOf } from './played.ts';

/** How far the conversation is, and where it is to go. */
function placeOf({ messages }: AskedBody) {
  const asked = messages.find(({ role }) => role === 'user');
  return {
    steps: messages.filter(({ role }) => role === 'assistant').length,
    target: Number(/to (\d+)/.exec(String(asked?.content))?.[1] ?? 0),
  };
}

/** Models by the first word of their names. */
function shopModel(body: AskedBody): Said {
  const { steps, target } = placeOf(body);
  const nth = (...said: Said[]): Said => said[steps] ?? { content: 'Done' };
  const add = (by: number): Said => ({ calls: [['add', { by }]] });
  switch (body.model.split('-')[0]) {
    case 'lazy':
      return { content: 'I would rather not.' };
    case 'long':
      return steps < 2 ? add(steps === 0 ? target - 1 : 1) : { content: 'Done' };
    case 'clumsy':
      return nth({ calls: [['add', '{"by": ']] }, { calls: [['add', { by: 'x' }]] }, add(target));
    case 'printer':
      return nth({ calls: [['print', { bytes: 40_000 }]] }, add(target));
    case 'cut':
      return nth({ ...add(target), finish: 'length' });
    case 'guesser':
      return { content: '1' };
    case 'repaired':
      return { content: steps === 0 ? 'seven' : '{"count":7}' };
    default:
      return steps === 0 ? add(target) : { content: 'Done' };
  }
}

const task = (id: string, target: number, fields: Partial<TaskInput> = {}): TaskInput => ({
  id,
  env: 'shop',
  scenario: 'count',
  args: { target },
  ...fields,
});
const ALL = { filter: {} };

describe('a dataset', { timeout: 120_000 }, () => {
  it('is selected from traces: completed, graded, rewarded, whole, not repaired, not of reference models', async () => {
    const shop = await startPlayed(shopModel);
    const good = await shop.play('count', { target: 5 }, 'good');
    for (const model of ['lazy', 'printer', 'cut', 'proctor/oracle']) await shop.play('count', { target: 5 }, model);
    await shop.play('structured', { target: 7 }, 'repaired');
    const limited = await shop.request('/v1/agent/run', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        env_name: 'shop',
        scenario_name: 'count',
        scenario_args: { target: 5 },
        model: 'good',
        max_steps: 1,
      }),
    });
    await shop.ended((limited.json as { trace_id: string }).trace_id);
    const { manifest, sources, train } = await shop.build(ALL);
    expect(sources).toEqual([{ file: 'train.jsonl', line: 1, trace_id: good }]);
    expect(train).toHaveLength(1);
    expect(stepOf(manifest, 'select')).toEqual({
      step: 'select',
      in: 7,
      out: 1,
      dropped: {
        cut_by_length: 1,
        cut_result: 1,
        low_reward: 1,
        outcome_limit: 1,
        reference_model: 1,
        repaired_answer: 1,
      },
    });
    const withAll = await shop.build(ALL, { select: { include_reference: true, min_reward: 0 } });
    expect(stepOf(withAll.manifest, 'select')?.dropped).not.toHaveProperty('low_reward');
    expect(withAll.manifest.models).toMatchObject({ good: 1, 'proctor/oracle': expect.anything() });
  });

  it('never has traces of proctor check, and imports and replays where they are asked for by name alone', async () => {
    const shop = await startPlayed(shopModel);
    const ids = new Map<string, string>();
    for (const [index, origin] of ['api', 'check', 'import', 'replay'].entries()) {
      const id = await shop.play('count', { target: 5 + index }, 'good');
      await shop.database.kysely.updateTable('traces').set({ origin }).where('trace_id', '=', id).execute();
      ids.set(origin, id);
    }
    const { manifest, sources } = await shop.build(ALL);
    expect(sources.map(({ trace_id: id }) => id)).toEqual([ids.get('api')]);
    expect(stepOf(manifest, 'select')?.dropped).toEqual({ origin_check: 1, origin_import: 1, origin_replay: 1 });
    for (const [origin, lines] of [
      ['check', 0],
      ['import', 1],
      ['replay', 1],
    ] as const) {
      const asked = await shop.build({ filter: { origin } });
      expect([origin, asked.manifest.lines.train]).toEqual([origin, lines]);
    }
  });

  it('has each deed once, and of each task the shortest, the best, or some that are drawn', async () => {
    const shop = await startPlayed(shopModel);
    const first = await shop.play('count', { target: 5 }, 'good');
    await shop.play('count', { target: 5 }, 'good-again');
    await shop.play('count', { target: 5 }, 'long');
    await shop.play('count', { target: 6 }, 'long');
    const all = await shop.build(ALL);
    expect(stepOf(all.manifest, 'deduplicate')).toMatchObject({ in: 4, out: 3, dropped: { duplicate: 1 } });
    expect(all.sources[0]?.trace_id).toBe(first);
    const shortest = await shop.build(ALL, { select: { max_per_task: 1 } });
    expect(stepOf(shortest.manifest, 'choose')).toMatchObject({ in: 3, out: 2, dropped: { over_max_per_task: 1 } });
    expect(shortest.sources[0]?.trace_id).toBe(first);
    const drawn = async (seed: number) =>
      (await shop.build(ALL, { select: { max_per_task: 1, choose: 'random', seed } })).sources[0]?.trace_id;
    expect(await drawn(1)).toBe(await drawn(1));
    const seeds = await Promise.all(Array.from({ length: 24 }, (_, seed) => drawn(seed)));
    expect(new Set(seeds).size).toBe(2);
  });

  it('is split by task, drawn by the seed, so that no task is on both sides', async () => {
    const shop = await startPlayed(shopModel);
    const tasks = Array.from({ length: 30 }, (_, index) => task(`t${index}`, index + 2));
    const evaluation = await shop.evaluate(tasks, ['good', 'long']);
    const from = { evaluations: [evaluation] };
    const built = await shop.build(from, { select: { validation: 0.3 } });
    const { lines, tasks: counted } = built.manifest;
    expect(lines.train + lines.validation).toBe(60);
    expect([lines.train, lines.validation]).toEqual([counted.train * 2, counted.validation * 2]);
    expect(counted.validation).toBeGreaterThan(2);
    const prompts = (side: readonly object[]) =>
      new Set(side.map((line) => JSON.stringify(line).match(/Count to \d+/)?.[0]));
    expect([...prompts(built.validation)].filter((prompt) => prompts(built.train).has(prompt))).toEqual([]);
    const again = await shop.build(from, { select: { validation: 0.3, seed: 1 } });
    expect(prompts(again.validation)).not.toEqual(prompts(built.validation));
  });

  it('is refused with a task that is held out, of the split test, or in a taskset that is held out, whatever its id', async () => {
    const shop = await startPlayed(shopModel);
    const evaluation = await shop.evaluate(
      [task('a', 2), task('b', 3, { split: 'test' }), task('c', 4, { held_out: true }), task('d', 5)],
      ['good'],
    );
    const from = { evaluations: [evaluation] };
    await expect(shop.build(from)).rejects.toMatchObject({
      code: 'held_out_task',
      status: 400,
      message: expect.stringMatching(/2 tasks .*"b", "c"/),
    });
    const heldOut = [{ name: 'others', tasks: [{ ...task('x', 5), scenario: 'shop:count' } as never] }];
    await expect(shop.build(from, { heldOut, select: { splits: ['train'] } })).rejects.toMatchObject({
      message: expect.stringMatching(/1 task is .*"d"/),
    });
    const rest = await shop.build(from, { select: { splits: ['train'] } });
    expect(rest.manifest.lines.train).toBe(2);
    expect(stepOf(rest.manifest, 'select')?.dropped).toEqual({ other_split: 2 });
    // Another evaluation says that the same task is one to learn from: it is not.
    const relabelled = await shop.evaluate([task('z', 3)], ['long']);
    await expect(
      shop.build({ evaluations: [evaluation, relabelled] }, { select: { splits: ['train'] } }),
    ).rejects.toMatchObject({
      message: expect.stringContaining('"z"'),
    });
  });

  it('looks traces outside of evaluations up among the tasks that their scenario declares', async () => {
    const shop = await startPlayed(shopModel);
    await shop.play('count', { target: 5 }, 'good');
    const declaredTasks = async () => [{ ...task('declared', 5, { split: 'test' }) } as never];
    await expect(shop.build(ALL, { parts: { declaredTasks } })).rejects.toMatchObject({
      code: 'held_out_task',
      message: expect.stringContaining('"declared"'),
    });
    expect((await shop.build(ALL, { parts: { declaredTasks: async () => [] } })).manifest.lines.train).toBe(1);
  });

  it('names at most 20 of the tasks that it is refused for', async () => {
    const shop = await startPlayed(shopModel);
    const tasks = Array.from({ length: 25 }, (_, index) => task(`t${index + 10}`, index + 1, { split: 'test' }));
    const evaluation = await shop.evaluate(tasks, ['good']);
    const refusal = await shop.build({ evaluations: [evaluation] }).catch((error: Error) => error);
    const { message } = refusal as Error;
    expect(message.match(/"t\d+"/g)).toHaveLength(20);
    expect(message).toContain('and 5 more');
  });

  it('has no line with a secret that is known', async () => {
    const shop = await startPlayed(shopModel);
    await shop.play('count', { target: 5, note: 'The word is hunter2-the-wordy.' }, 'good');
    await shop.play('count', { target: 6 }, 'good');
    const redactor = createRedactor([{ name: 'word', value: 'hunter2-the-wordy' }]);
    const built = await shop.build(ALL, { parts: { redactor } });
    expect(stepOf(built.manifest, 'render')).toMatchObject({ in: 2, out: 1, dropped: { secret: 1 } });
    for (const name of readdirSync(built.folder)) expect(built.text(name)).not.toContain('hunter2');
  });

  it('has tools on all lines or on none', async () => {
    const shop = await startPlayed(shopModel);
    await shop.play('guess', { target: 1 }, 'guesser');
    expect((await shop.build(ALL)).train).toEqual([
      {
        messages: [
          { role: 'user', content: 'Guess.' },
          { role: 'assistant', content: '1' },
        ],
      },
    ]);
    await shop.play('count', { target: 5 }, 'good');
    const mixed = await shop.build(ALL);
    expect(stepOf(mixed.manifest, 'render')?.dropped).toEqual({ no_tools: 1 });
    expect(mixed.train).toMatchObject([{ tools: expect.anything() }]);
  });

  it('gives weight 0 to turns whose call no schema allows, and to nothing else', async () => {
    const shop = await startPlayed(shopModel);
    await shop.play('count', { target: 5 }, 'clumsy');
    const { train } = await shop.build(ALL);
    const said = train[0]?.messages.filter(({ role }: { role: string }) => role === 'assistant');
    expect(said.map(({ weight }: { weight?: number }) => weight)).toEqual([0, 0, undefined, undefined]);
    expect(said[0].tool_calls[0].function.arguments).toBe('{}');
  });

  it('pairs the best success of a task with its failures, cut at the first turn that differs', async () => {
    const shop = await startPlayed(shopModel);
    const good = await shop.play('count', { target: 5 }, 'good');
    await shop.play('count', { target: 5 }, 'long');
    const lazy = await shop.play('count', { target: 5 }, 'lazy');
    await shop.play('count', { target: 6 }, 'lazy');
    await shop.play('count', { target: 7 }, 'good');
    const { manifest, train, sources } = await shop.build(ALL, { format: 'openai-dpo' });
    expect(sources).toEqual([{ file: 'train.jsonl', line: 1, trace_id: good, rejected_trace_id: lazy }]);
    expect(train).toMatchObject([
      {
        input: { messages: [{ role: 'system' }, { role: 'user', content: 'Count to 5.' }], parallel_tool_calls: true },
        preferred_output: [{ role: 'assistant', tool_calls: [{ function: { name: 'add', arguments: '{"by":5}' } }] }],
        non_preferred_output: [{ role: 'assistant', content: 'I would rather not.' }],
      },
    ]);
    expect(stepOf(manifest, 'choose')?.dropped).toEqual({ no_failure: 1, no_success: 1, other_success: 1 });
  });

  it('is the same bytes when it is built again, without any time', async () => {
    const shop = await startPlayed(shopModel);
    const tasks = Array.from({ length: 8 }, (_, index) => task(`t${index}`, index + 2));
    const from = { evaluations: [await shop.evaluate(tasks, ['good', 'long'])] };
    const [one, other] = [
      await shop.build(from, { select: { validation: 0.2 } }),
      await shop.build(from, { select: { validation: 0.2 } }),
    ];
    expect(readdirSync(one.folder).sort()).toEqual([
      'dataset.json',
      'dataset.md',
      'sources.jsonl',
      'train.jsonl',
      'validation.jsonl',
    ]);
    for (const name of readdirSync(one.folder)) {
      expect(one.text(name)).toBe(other.text(name));
      expect(one.text(name)).not.toMatch(/\d{4}-\d{2}-\d{2}T/);
    }
  });

  it('takes the place of the dataset of its folder, and of nothing else', async () => {
    const shop = await startPlayed(shopModel);
    await shop.play('count', { target: 5 }, 'good');
    const folder = join(temporaryDirectory(), 'set');
    const first = await shop.build(ALL, { folder });
    await shop.play('count', { target: 6 }, 'good');
    const second = await shop.build(ALL, { folder });
    expect([first.manifest.lines.train, second.manifest.lines.train, second.train.length]).toEqual([1, 2, 2]);
    expect(readdirSync(join(folder, '..'))).toEqual(['set']);
    const other = join(temporaryDirectory(), 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'notes.txt'), 'mine');
    await expect(shop.build(ALL, { folder: other })).rejects.toThrow('"notes.txt"');
    expect(readdirSync(other)).toEqual(['notes.txt']);
    // One that is refused leaves what was there.
    await expect(shop.build({ evaluations: [`eval_${'0'.repeat(32)}`] }, { folder })).rejects.toMatchObject({
      code: 'evaluation_not_found',
    });
    expect(readdirSync(join(folder, '..'))).toEqual(['set']);
  });

  it('has traces of its account alone', async () => {
    const shop = await startPlayed(shopModel);
    await shop.play('count', { target: 5 }, 'good');
    expect((await shop.build(ALL, { account: 'other' })).manifest).toMatchObject({
      lines: { train: 0, validation: 0 },
    });
    const evaluation = await shop.evaluate([task('a', 2)], ['good']);
    await expect(shop.build({ evaluations: [evaluation] }, { account: 'other' })).rejects.toMatchObject({
      code: 'evaluation_not_found',
    });
  });
});
