import type { EventBody, TraceEvent } from '../../src/contract/service/event.ts';
import type { Database } from '../../src/store/database/database.ts';
import { TraceProjection } from '../../src/store/traces/rows/projection.ts';
import { toFinishedColumns, toTracesRow } from '../../src/store/traces/rows/trace-rows.ts';

const AT_ONCE = 1_000;
const STEPS = 4;
const USAGE = {
  prompt_tokens: 900,
  completion_tokens: 60,
  total_tokens: 960,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cost_usd: null,
};
const TOOLS = ['find_order', 'get_order', 'return_order', 'write_note'].map((name) => ({
  name,
  description: `Does what ${name} says, with the order that is named. It refuses orders of others.`,
  input_schema: {
    type: 'object',
    properties: { order: { type: 'string', description: 'Id of the order.' }, step: { type: 'integer' } },
    required: ['order'],
  },
}));

/** Fills an empty database with so many finished traces: four of each task, three of them successes, no two alike. */
export async function fillWithTraces(database: Database, count: number): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE) {
    const traces: object[] = [];
    const events: object[] = [];
    for (let index = from; index < Math.min(count, from + AT_ONCE); index++) addTrace(index, traces, events);
    await database.transaction(async (transaction) => {
      for (const [table, rows] of [
        ['traces', traces],
        ['events', events],
      ] as const) {
        const [first] = rows;
        if (first === undefined) continue;
        const statement = database.kysely
          .insertInto(table)
          .values(first as never)
          .compile(); // The columns are those of its rows.
        await database.runEach([{ statement, rows: rows.map((row) => Object.values(row)) }], { transaction });
      }
    });
  }
}

function addTrace(index: number, traces: object[], events: object[]): void {
  const traceId = index.toString(16).padStart(32, '0');
  const createdAt = Date.parse('2026-06-01T00:00:00Z') + index * 1_000;
  const reward = index % 4 === 3 ? 0 : 1;
  const bodies = [...toBodies(index, reward)];
  const projection = new TraceProjection({ traceId, traceUrl: '' });
  for (const [place, body] of bodies.entries()) {
    const at = new Date(createdAt + place).toISOString();
    const event: TraceEvent = { seq: place + 1, at, attempt: 1, ...body };
    projection.add(event);
    events.push({
      trace_id: traceId,
      seq: place + 1,
      attempt: 1,
      at: createdAt + place,
      type: body.type,
      body: JSON.stringify(body),
    });
  }
  const [queued] = bodies;
  if (queued?.type !== 'run.queued') throw new TypeError('A trace begins with run.queued');
  const row = { traceId, account: 'local', keyId: null, createdAt, request: queued, shown: queued };
  traces.push({ ...toTracesRow(row), ...toFinishedColumns(projection.toTrace(), createdAt + bodies.length) });
}

function* toBodies(index: number, reward: number): Generator<EventBody> {
  const task = Math.floor(index / 4);
  const prompt = [
    { role: 'user' as const, content: `Return order #W${task}. ${'The customer is in a hurry. '.repeat(8)}` },
  ];
  yield {
    type: 'run.queued',
    origin: 'run',
    env_name: 'retail',
    scenario_name: 'return_order',
    scenario_args: { order: `#W${task}` },
    model: 'some/model',
    max_steps: 100,
    timeout_seconds: 3_600,
    seed: null,
    sampling: {},
    metadata: {},
    priority: 0,
    previous_end: null,
  };
  const versions = { proctor: '0', environment: '1', environment_hash: null, protocol: null, node: '20' };
  yield { type: 'run.started', worker: 'w', versions };
  yield {
    type: 'setup.completed',
    system: 'You serve customers. '.repeat(40),
    prompt,
    tools: TOOLS,
    answer_schema: null,
    duration_ms: 1,
  };
  yield { type: 'turn.started', turn: 1, messages: prompt };
  for (let step = 1; step <= STEPS; step++) {
    const id = `call_${index}_${step}`;
    const name = TOOLS[step - 1]?.name ?? '';
    const args = { order: `#W${task}`, step: index };
    const call = { id, name, arguments: args, raw_arguments: null };
    const message = { role: 'assistant' as const, content: null, reasoning: null, tool_calls: [call] };
    yield { type: 'model.requested', turn: 1, step };
    yield { ...said(step), message, finish_reason: 'tool_calls' };
    yield { type: 'tool.called', turn: 1, step, tool_call_id: id, name, arguments: args, raw_arguments: null };
    const text = JSON.stringify({
      order: args.order,
      items: Array.from({ length: 12 }, (_, item) => ({ item, price: 10 * item, state: 'delivered' })),
    });
    yield {
      type: 'tool.responded',
      turn: 1,
      step,
      tool_call_id: id,
      name,
      content: [{ type: 'text', text }],
      structured_content: null,
      is_error: false,
      duration_ms: 1,
    };
  }
  yield { type: 'model.requested', turn: 1, step: STEPS + 1 };
  yield {
    ...said(STEPS + 1),
    message: { role: 'assistant', content: 'It is returned.', reasoning: null, tool_calls: [] },
    finish_reason: 'stop',
  };
  yield { type: 'turn.finished', turn: 1, status: 'answered', tool_ms: 4 };
  yield { type: 'answer.submitted', answer: 'It is returned.' };
  yield {
    type: 'evaluation.completed',
    evaluation: { reward, done: true, content: null, info: {}, subscores: [], is_error: false },
    duration_ms: 1,
  };
  yield { type: 'run.finished', status: 'completed', stop_reason: 'answered', reward, error: null };
}

function said(step: number) {
  return {
    type: 'model.responded' as const,
    turn: 1,
    step,
    usage: USAGE,
    token_ids: null,
    logprobs: null,
    retries: 0,
    duration_ms: 300,
  };
}
