import { randomBytes } from 'node:crypto';
import type { Usage } from '../../../src/contract/chat.ts';
import type { EventBody, EventOf, TraceEvent } from '../../../src/contract/service/event.ts';
import type { NewTrace } from '../../../src/store/traces/trace-store.ts';

export function newTraceId(): string {
  return randomBytes(16).toString('hex');
}

export function newTrace(
  queued: Partial<NewTrace['queued']> = {},
  { traceId = newTraceId(), account = 'local' }: { readonly traceId?: string; readonly account?: string } = {},
): NewTrace {
  return {
    traceId,
    account,
    queued: {
      origin: 'run',
      env_name: 'counter',
      scenario_name: 'count_to',
      scenario_args: { target: 2 },
      model: 'proctor/oracle',
      max_steps: 100,
      timeout_seconds: 3_600,
      seed: null,
      sampling: {},
      metadata: {},
      priority: 0,
      ...queued,
    },
  };
}

export const VERSIONS = {
  proctor: '0.1.0',
  environment: '1.2.3',
  environment_hash: null,
  protocol: '2025-11-25',
  node: '20.19.0',
};

export const started: EventBody = { type: 'run.started', worker: 'worker-1', versions: VERSIONS };

export const ready: EventBody = { type: 'environment.ready', name: 'counter', versions: VERSIONS, duration_ms: 40 };

export const setUp: EventBody = {
  type: 'setup.completed',
  system: 'Be exact.',
  prompt: [{ role: 'user', content: 'Count to 2.' }],
  tools: [{ name: 'increment', description: 'Adds.', input_schema: { type: 'object' } }],
  answer_schema: null,
  duration_ms: 2,
};

export function log(message: string): EventBody {
  return { type: 'log', level: 'info', logger: 'test', message };
}

export function turnStarted(turn = 1, text = 'Count to 2.'): EventBody {
  return { type: 'turn.started', turn, messages: [{ role: 'user', content: text }] };
}

export function turnFinished(turn = 1, toolMs = 5): EventBody {
  return { type: 'turn.finished', turn, status: 'answered', tool_ms: toolMs };
}

function usage(tokens: number, cost: number | null = null): Usage {
  return {
    prompt_tokens: tokens,
    completion_tokens: 10,
    total_tokens: tokens + 10,
    cached_tokens: 1,
    reasoning_tokens: 2,
    cost_usd: cost,
  };
}

export function responded(
  step: number,
  { turn = 1, content = null as string | null, calls = [] as readonly string[], cost = null as number | null } = {},
): EventBody {
  const tool_calls = calls.map((id) => ({ id, name: 'increment', arguments: { by: 1 }, raw_arguments: null }));
  return {
    type: 'model.responded',
    turn,
    step,
    message: { role: 'assistant', content, reasoning: null, tool_calls },
    finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
    usage: usage(100, cost),
    token_ids: null,
    logprobs: null,
    retries: 0,
    duration_ms: 30,
  };
}

export function called(step: number, id: string, by = 1, turn = 1): EventBody {
  return {
    type: 'tool.called',
    turn,
    step,
    tool_call_id: id,
    name: 'increment',
    arguments: { by },
    raw_arguments: null,
  };
}

export function toolResponded(step: number, id: string, text = 'ok', turn = 1): EventBody {
  return {
    type: 'tool.responded',
    turn,
    step,
    tool_call_id: id,
    name: 'increment',
    content: [{ type: 'text', text }],
    structured_content: null,
    is_error: false,
    duration_ms: 4,
  };
}

export function evaluated(reward: number): EventBody {
  return {
    type: 'evaluation.completed',
    evaluation: { reward, done: true, content: null, info: {}, subscores: [], is_error: false },
    duration_ms: 1,
  };
}

export function finished(
  reward: number | null = 1,
  change: Partial<EventOf<'run.finished'>> = {},
): EventOf<'run.finished'> {
  return { type: 'run.finished', status: 'completed', stop_reason: 'answered', reward, error: null, ...change };
}

/** What a store would make of these bodies: one every 10 ms, in attempts that `run.queued` begins. */
export function stamp(bodies: readonly EventBody[], startMs = Date.parse('2026-01-01T00:00:00.000Z')): TraceEvent[] {
  let attempt = 0;
  return bodies.map((body, index) => {
    if (body.type === 'run.queued') attempt++;
    return { seq: index + 1, at: new Date(startMs + index * 10).toISOString(), attempt, ...body };
  });
}

export function seqs(events: readonly TraceEvent[]): readonly number[] {
  return events.map(({ seq }) => seq);
}

/** 1, 2 and so on. */
export function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
