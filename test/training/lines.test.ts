import { describe, expect, it } from 'vitest';
import type { DatasetFormat } from '../../src/contract/service/dataset.ts';
import { createSeededRandom } from '../../src/models/gateway/reference/seeded-random.ts';
import { type AskedBody, type Line, type Said, startPlayed } from './played.ts';

/** A conversation that a seed draws: calls of every kind, alone and together, with texts and thoughts. */
function drawnModel(body: AskedBody): Said {
  const seed = Number(body.model.replace(/\D/g, ''));
  const steps = body.messages.filter(({ role }) => role === 'assistant').length;
  const random = createSeededRandom(seed * 100 + steps);
  const draw = <T>(...choices: readonly T[]): T => random.pick(choices);
  const thought: Pick<Said, 'reasoning'> = draw(true, false)
    ? { reasoning: [seed % 2 === 0 ? 'reasoning' : 'reasoning_content', `thought ${seed} ${steps}`] }
    : {};
  if (steps >= 1 + (seed % 4)) return { ...thought, content: `Done ${seed}` };
  const call = () =>
    draw<readonly [string, object | string]>(
      ['add', { by: 1 }],
      ['add', '{"by": '],
      ['add', { by: 'many' }],
      ['no_such_tool', { a: '"\u2028é' }],
      ['fail', {}],
      ['look', { large: false }],
      ['look', { large: true }],
      ['print', { bytes: 100 }],
    );
  const calls = Array.from({ length: draw(1, 1, 2, 3) }, call);
  return { ...thought, ...(draw(true, false) ? { content: `Let me see ${steps}` } : {}), calls };
}

const SEEDS = Array.from({ length: 24 }, (_, index) => index + 1);
const EVERYTHING = { min_reward: 0, max_per_task: 1_000 } as const;

/** As the gateway had the conversation, with what the model said at last. */
function sentAndSaid(last: AskedBody): readonly Line[] {
  const { reasoning, content } = drawnModel(last);
  const thought = reasoning === undefined ? {} : { [reasoning[0]]: reasoning[1] };
  return [...last.messages, { role: 'assistant', content, ...thought }];
}

function withoutWeight({ weight: _weight, ...message }: Line): Line {
  return message;
}

describe('a line', { timeout: 120_000 }, () => {
  it('is exactly what the model was sent and said, whatever it did', async () => {
    const shop = await startPlayed(drawnModel);
    for (const seed of SEEDS) await shop.play('count', { target: 0, note: `Seed ${seed}.` }, `drawn-${seed}`);
    const { train, sources, manifest } = await shop.build({ filter: {} }, { select: EVERYTHING });
    expect(manifest.steps.filter(({ step }) => step === 'render' || step === 'validate')).toMatchObject([
      { in: SEEDS.length, out: SEEDS.length },
      { in: SEEDS.length, out: SEEDS.length },
    ]);
    for (const [index, line] of train.entries()) {
      const trace = await shop.store.trace(sources[index]?.trace_id);
      const asked = shop.bodies.filter(({ model }) => model === trace?.model);
      const last = asked.at(-1);
      if (last === undefined) throw new Error(`Nobody was asked in ${trace?.trace_id}`);
      expect(line.messages.map(withoutWeight)).toEqual(sentAndSaid(last));
      expect(line.tools).toEqual(last.tools);
      const weights = line.messages.filter(({ role }: Line) => role === 'assistant').map(({ weight }: Line) => weight);
      expect(weights).toEqual(asked.map((body) => (hasBadCall(drawnModel(body)) ? 0 : undefined)));
    }
  });

  it.each<DatasetFormat>(['trl', 'axolotl', 'llama-factory'])(
    'of %s says the same in the words of its trainer',
    async (format) => {
      const shop = await startPlayed((body) => {
        const said = drawnModel(body);
        const calls = said.calls?.filter(([name]) => name !== 'look') ?? [];
        return {
          ...said,
          ...(said.calls === undefined ? {} : { calls: calls.length > 0 ? calls : [['add', { by: 2 }]] }),
        };
      });
      for (const seed of SEEDS.slice(0, 12))
        await shop.play('count', { target: 0, note: `Seed ${seed}.` }, `drawn-${seed}`);
      const openai = await shop.build({ filter: {} }, { select: EVERYTHING });
      const { train, manifest } = await shop.build({ filter: {} }, { select: EVERYTHING, format });
      expect(manifest.lines.train).toBe(12);
      for (const [index, line] of train.entries()) {
        const wanted = openai.train[index];
        const tools = format === 'llama-factory' ? JSON.parse(line.tools) : line.tools;
        expect(tools).toEqual(wanted?.tools);
        expect(line.messages.map(toWords)).toEqual(wanted?.messages.map(toWords));
        const left = line.messages.map(({ train: learned }: Line) => learned === false);
        if (format === 'axolotl') expect(left).toEqual(wanted?.messages.map(({ weight }: Line) => weight === 0));
      }
    },
  );

  it('of atif is a trajectory of the same texts, calls and thoughts, without grades and times', async () => {
    const shop = await startPlayed((body) => {
      const said = drawnModel(body);
      return { ...said, ...(said.calls && { calls: said.calls.filter(([name]) => name !== 'look') }) };
    });
    for (const seed of SEEDS.slice(0, 12))
      await shop.play('count', { target: 0, note: `Seed ${seed}.` }, `drawn-${seed}`);
    const openai = await shop.build({ filter: {} }, { select: EVERYTHING });
    const { train, manifest, text } = await shop.build({ filter: {} }, { select: EVERYTHING, format: 'atif' });
    expect(manifest.lines.train).toBe(12);
    for (const [index, { steps, agent, schema_version: version }] of train.entries()) {
      const said = openai.train[index]?.messages.filter(({ role }: Line) => role === 'assistant');
      const ofAgent = steps.filter(({ source }: Line) => source === 'agent');
      expect(version).toBe('ATIF-v1.8');
      expect(agent.tool_definitions).toEqual(openai.train[index]?.tools);
      expect(ofAgent.map(toStepWords)).toEqual(said.map(toMessageWords));
      const results = steps.flatMap(({ observation }: Line) => observation?.results ?? []);
      const answers = openai.train[index]?.messages.filter(({ role }: Line) => role === 'tool');
      expect(results.map(({ source_call_id: id }: Line) => id)).toEqual(
        answers.map(({ tool_call_id: id }: Line) => id),
      );
    }
    expect(text('train.jsonl')).not.toMatch(/timestamp|reward|"created_at|\d{4}-\d{2}-\d{2}T/);
    const dropped = await shop.build({ filter: {} }, { select: { ...EVERYTHING, reasoning: 'drop' }, format: 'atif' });
    expect(dropped.text('train.jsonl')).not.toContain('thought ');
  });

  it('of atif is dropped with images, which it names by files', async () => {
    const shop = await startPlayed(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? { content: 'Seen' } : { calls: [['look', { large: true }]] },
    );
    await shop.play('count', { target: 0 }, 'seer');
    const { manifest } = await shop.build({ filter: {} }, { select: EVERYTHING, format: 'atif' });
    expect(manifest.steps).toContainEqual({ step: 'render', in: 1, out: 0, dropped: { image_content: 1 } });
  });

  it('leaves out what a model thought, where it is to', async () => {
    const shop = await startPlayed(drawnModel);
    for (const seed of SEEDS.slice(0, 6))
      await shop.play('count', { target: 0, note: `Seed ${seed}.` }, `drawn-${seed}`);
    const kept = await shop.build({ filter: {} }, { select: EVERYTHING });
    expect(kept.text('train.jsonl')).toContain('thought ');
    const dropped = await shop.build({ filter: {} }, { select: { ...EVERYTHING, reasoning: 'drop' } });
    expect(dropped.text('train.jsonl')).not.toMatch(/thought |"reasoning/);
  });
});

/** No schema allows it: arguments that are no JSON or of another type, a tool that there is not. */
function hasBadCall({ calls = [] }: Said): boolean {
  return calls.some(
    ([name, args]) => name === 'no_such_tool' || typeof args === 'string' || JSON.stringify(args).includes('many'),
  );
}

/** Role, text and calls, with the arguments read. */
function toWords({ role, content, tool_calls: calls = [], tool_call_id: id }: Line) {
  const made = calls.map((call: Line) => {
    const { name, arguments: args } = call.function;
    return [call.id, name, typeof args === 'string' ? JSON.parse(args) : args];
  });
  return { role, content: content ?? '', made, id };
}

function toStepWords({ message, reasoning_content: thought, tool_calls: calls = [], extra }: Line) {
  const made = calls.map((call: Line) => [call.tool_call_id, call.function_name, call.arguments]);
  return { message, thought, made, weight: extra?.proctor?.weight };
}

function toMessageWords({ content, reasoning, reasoning_content: thought, tool_calls: calls = [], weight }: Line) {
  const made = calls.map((call: Line) => [call.id, call.function.name, JSON.parse(call.function.arguments)]);
  return { message: content ?? '', thought: thought ?? reasoning, made, weight };
}
