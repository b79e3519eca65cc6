import type { ContentBlock } from '../../../src/contract/chat.ts';
import type { Json, JsonObject } from '../../../src/contract/json.ts';
import type { ContentPart, PromptMessage } from '../../../src/contract/scenario.ts';
import type { EventBody, TraceEvent } from '../../../src/contract/service/event.ts';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { createSeededRandom, type SeededRandom } from '../../../src/models/gateway/reference/seeded-random.ts';
import { projectTrace } from '../../../src/store/traces/rows/projection.ts';
import { judge, list, type Recorder, replyAsUser, text, usage } from './random-parts.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/svg+xml'];

/** A trace that has ended, of any kind that there is: of a run, a chat, or an agent at a seat. Of one seed it is always the same. */
export function randomTrace(seed: number): Trace {
  const traceId = seed.toString(16).padStart(32, '0');
  return projectTrace(randomEvents(seed), { traceId, traceUrl: `http://127.0.0.1:8320/traces/${traceId}` });
}

function randomEvents(seed: number): readonly TraceEvent[] {
  const random = createSeededRandom(seed);
  const events: TraceEvent[] = [];
  let at = Date.parse('2026-11-20T10:00:00.000Z') + random.integer(0, 1e9);
  let attempt = 1;
  const record = (body: EventBody) => {
    at += random.integer(0, 500);
    events.push({ seq: events.length + 1, at: new Date(at).toISOString(), attempt, ...body });
  };
  const kind = random.pick(['run', 'eval', 'chat', 'seat'] as const);
  const queued = randomRequest(random, kind);
  record({ ...queued, previous_end: null });
  if (random.chance(0.1)) {
    attempt = 2;
    record({ ...queued, previous_end: 'lost', previous_error: null });
  }
  if (random.chance(0.05)) {
    record({ type: 'run.finished', status: 'cancelled', stop_reason: 'cancelled', reward: null, error: null });
    return events;
  }
  const versions = {
    proctor: '0.1.0',
    environment: '1.0.0',
    environment_hash: 'abc',
    protocol: '2025-11-25',
    node: 'v20',
  };
  record({ type: 'run.started', worker: 'w', versions });
  if (random.chance(0.9)) {
    record({ type: 'environment.ready', name: 'counter', versions, waited_ms: random.integer(0, 50), duration_ms: 40 });
  }
  if (random.chance(0.2)) {
    record({ type: 'sandbox.started', ...SANDBOX });
    record({ type: 'sandbox.refused', sandbox: SANDBOX.name, host: 'example.org', port: 443 });
  }
  if (random.chance(0.05)) {
    const error = { boundary: 'setup' as const, code: 'environment_failed', message: text(random) };
    record({ type: 'run.finished', status: 'failed', stop_reason: 'error', reward: null, error });
    return events;
  }
  playTurns(random, kind, record);
  endRun(random, kind, record);
  return events;
}

const SANDBOX = {
  name: 'main',
  engine: 'docker',
  engine_version: '20.10',
  image: 'node:22-slim',
  digest: 'sha256:1',
  network: 'allow' as const,
  limits: { memory_bytes: 1, cpus: 1, processes: 1, disk_bytes: null },
  not_enforced: { disk: 'the storage driver has no limits' },
  warnings: [],
  queued_ms: 0,
  image_ms: 1,
  start_ms: 2,
};

type Kind = 'run' | 'eval' | 'chat' | 'seat';

function randomRequest(
  random: SeededRandom,
  kind: Kind,
): Omit<Extract<EventBody, { type: 'run.queued' }>, 'previous_end'> {
  const evaluation = {
    evaluation_id: 'eval_1',
    task_id: `task-${random.integer(1, 9)}`,
    attempt_index: random.integer(1, 4),
    rerun: 0,
  };
  return {
    type: 'run.queued',
    origin: kind === 'seat' ? 'agent' : kind,
    env_name: 'counter',
    scenario_name: 'count',
    scenario_args: random.chance(0.5) ? { target: 3, deep: { list: [1, 'x', null, { y: text(random) }] } } : {},
    model: random.pick(['gpt-4.1', 'ft:gpt-4o:org::abc', 'external', 'proctor/oracle']),
    max_steps: random.integer(1, 500),
    timeout_seconds: 3_600,
    seed: random.chance(0.5) ? random.integer(-5, 1e6) : null,
    sampling: random.chance(0.3) ? { temperature: 0.5 } : {},
    metadata: random.chance(0.5) ? { team: text(random), é: 'ü' } : {},
    priority: 0,
    ...(kind === 'eval' ? { evaluation } : {}),
    ...(random.chance(0.2) ? { model_target: 'ft:other' } : {}),
    ...(kind === 'seat' && random.chance(0.5) ? { agent: 'codex' } : {}),
    ...(random.chance(0.2) ? { parent: { trace_id: 'a'.repeat(32), kind: 'fork' as const, after_step: 1 } } : {}),
  };
}

function playTurns(random: SeededRandom, kind: Kind, record: Recorder): void {
  const prompt = list(random, 0, 3, () => message(random));
  const tools = list(random, 0, 2, (index) => ({
    name: `tool_${index}`,
    description: text(random),
    input_schema: { type: 'object', properties: { n: { type: 'number', description: text(random) } } },
  }));
  const system = random.chance(0.5) ? text(random) : null;
  record({ type: 'setup.completed', system, prompt, tools, answer_schema: null, duration_ms: 2 });
  const turns = kind === 'chat' ? random.integer(0, 3) : 1;
  let step = 0;
  for (let turn = 1; turn <= turns; turn++) {
    const messages = turn === 1 && kind !== 'chat' ? prompt : list(random, 0, 2, () => message(random));
    record({ type: 'turn.started', turn, messages });
    for (let more = random.integer(0, 3); more > 0; more--) playStep(random, kind, turn, ++step, record);
    if (kind === 'seat')
      for (let more = random.integer(0, 2); more > 0; more--) call(random, turn, 0, `out-${more}`, record);
    if (random.chance(0.9)) {
      const status = turn < turns ? 'answered' : random.pick(['answered', 'max_steps', 'length', 'aborted'] as const);
      record({ type: 'turn.finished', turn, status, tool_ms: random.integer(0, 100) });
    }
    if (random.chance(0.3)) replyAsUser(random, turn, record);
  }
}

function playStep(random: SeededRandom, kind: Kind, turn: number, step: number, record: Recorder): void {
  const beside = kind === 'seat' && random.chance(0.7);
  const input = { dialect: 'chat' as const, model: 'any', messages: [{ role: 'user', content: text(random) }] };
  const seat = beside ? { branch: random.chance(0.3) ? 'title' : null, input } : {};
  record({ type: 'model.requested', turn, step, ...seat });
  const calls = list(random, 0, 3, (index) => ({
    id: random.chance(0.1) ? 'same' : `call-${step}-${index}`,
    name: random.pick(['tool_0', 'unknown tool']),
    ...(random.chance(0.2)
      ? { arguments: {}, raw_arguments: '{"n": ' }
      : { arguments: { n: index }, raw_arguments: null }),
  }));
  record({
    type: 'model.responded',
    turn,
    step,
    message: {
      role: 'assistant',
      content: random.chance(0.3) ? null : text(random),
      reasoning: random.chance(0.6) ? null : text(random),
      ...(random.chance(0.1) ? { refusal: 'I will not' } : {}),
      tool_calls: calls,
      ...(random.chance(0.2) ? { extra: { reasoning_details: [{ type: 'x', text: text(random) }] } } : {}),
    },
    finish_reason: random.pick(['stop', 'length', 'tool_calls', 'content_filter'] as const),
    usage: usage(random),
    ...tokens(random),
    retries: random.integer(0, 2),
    duration_ms: random.integer(0, 900),
    ...(random.chance(0.1) ? { repeated: true } : {}),
  });
  const answered = random.chance(0.9) ? calls.length : random.integer(0, calls.length);
  for (const [index, each] of calls.entries()) {
    const { id, name, arguments: given, raw_arguments } = each;
    record({ type: 'tool.called', turn, step, tool_call_id: id, name, arguments: given, raw_arguments });
    if (index < answered) respond(random, turn, step, id, name, record);
  }
}

function tokens(random: SeededRandom): { token_ids: Json; logprobs: Json } {
  if (random.chance(0.7)) return { token_ids: null, logprobs: null };
  const content: Json = [{ token: 'a', logprob: -0.25, bytes: [97], top_logprobs: [] }];
  return {
    token_ids: { prompt: random.chance(0.5) ? [1, 2] : null, completion: [3, 4] },
    logprobs: random.chance(0.5) ? { content, refusal: null } : null,
  };
}

function call(random: SeededRandom, turn: number, step: number, id: string, record: Recorder): void {
  record({
    type: 'tool.called',
    turn,
    step,
    tool_call_id: id,
    name: 'tool_0',
    arguments: { n: 1 },
    raw_arguments: null,
  });
  respond(random, turn, step, id, 'tool_0', record);
}

function respond(random: SeededRandom, turn: number, step: number, id: string, name: string, record: Recorder): void {
  record({
    type: 'tool.responded',
    turn,
    step,
    tool_call_id: id,
    name,
    content: list(random, 0, 2, () => block(random)),
    structured_content: random.pick<Json>([null, { value: 1 }, [1, 2], 'text']),
    is_error: random.chance(0.2),
    duration_ms: random.integer(0, 50),
  });
}

function endRun(random: SeededRandom, kind: Kind, record: Recorder): void {
  for (let more = random.integer(0, 2); more > 0; more--) {
    record({ type: 'log', level: 'info', logger: 'environment', message: text(random) });
  }
  if (kind === 'seat' && random.chance(0.3)) {
    const entry = {
      step: 1,
      tool_call_id: 'x',
      kind: 'result_changed' as const,
      name: 'tool_0',
      expected: 'a',
      reported: null,
    };
    record({ type: 'ledger.noted', ...entry });
  }
  if (random.chance(0.2)) {
    const boundary = random.pick(['model', 'environment', 'evaluate', 'agent'] as const);
    const error = {
      boundary,
      code: 'model_failed',
      message: text(random),
      ...(random.chance(0.5) ? { status: 502 } : {}),
    };
    record({ type: 'run.finished', status: 'failed', stop_reason: 'error', reward: null, error });
    return;
  }
  const answer = random.pick<Json>([null, '', 'three', { list: [1, 2] }, 7]);
  if (answer !== null) record({ type: 'answer.submitted', answer, ...(random.chance(0.1) ? { fits: false } : {}) });
  const reward = random.pick([0, 0.25, 1, 1 / 3]);
  const info: JsonObject = random.chance(0.5) ? { why: text(random), deep: { a: [1, 2, picture(random)] } } : {};
  const subscores = list(random, 0, 2, (index) => ({
    name: `part ${index}`,
    value: 0.5,
    ...(index === 0 ? {} : { weight: 2 }),
  }));
  const content = random.chance(0.5) ? null : text(random);
  judge(random, record);
  record({
    type: 'evaluation.completed',
    evaluation: { reward, done: true, content, info, subscores, is_error: false },
    duration_ms: random.integer(0, 9),
  });
  const stop = random.pick(['answered', 'max_steps', 'length', 'timeout', 'expired'] as const);
  const difference = { at: 'step' as const, step: 1, call: 2, before: [picture(random)], after: null };
  const replay = random.pick([undefined, { identical: true, difference: null }, { identical: false, difference }]);
  const repeated = replay === undefined ? {} : { replay };
  record({ type: 'run.finished', status: 'completed', stop_reason: stop, reward, error: null, ...repeated });
}

function picture(random: SeededRandom): JsonObject {
  return { type: 'image', data: PIXEL, mimeType: random.pick(IMAGE_TYPES) };
}

function message(random: SeededRandom): PromptMessage {
  const role = random.pick(['user', 'user', 'assistant', 'system'] as const);
  if (random.chance(0.6)) return { role, content: text(random) };
  return { role, content: list(random, 0, 3, () => part(random)) };
}

function part(random: SeededRandom): ContentPart {
  if (random.chance(0.6)) return { type: 'text', text: text(random) };
  return { type: 'image', data: PIXEL, mimeType: random.pick(IMAGE_TYPES) };
}

function block(random: SeededRandom): ContentBlock {
  return random.pick<ContentBlock>([
    part(random),
    part(random),
    { type: 'text', text: text(random), annotations: { audience: ['user'] } },
    { type: 'audio', data: PIXEL, mimeType: random.pick(['audio/wav', 'audio/x-none']) },
    { type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: text(random) } },
    { type: 'resource', resource: { uri: 'file:///b', mimeType: 'image/png', blob: PIXEL } },
    { type: 'resource_link', uri: 'file:///c', name: 'c' },
  ]);
}
