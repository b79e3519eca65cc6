import type { ContentBlock } from '../../src/contract/chat.ts';
import type { JsonObject } from '../../src/contract/json.ts';
import type { EventBody } from '../../src/contract/service/event.ts';
import type { NewTrace } from '../../src/store/traces/trace-store.ts';
import { VERSIONS } from '../store/traces/events.ts';

/** What a run was asked to do, and what happened then. */
export interface ExampleTrace {
  readonly queued: Partial<NewTrace['queued']>;
  readonly bodies: readonly EventBody[];
}

export interface StepParts {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly {
    readonly name: string;
    readonly arguments: JsonObject;
    readonly result: readonly ContentBlock[];
    readonly isError?: boolean;
    readonly ms: number;
    readonly logs?: readonly [level: 'info' | 'warning' | 'error', message: string][];
  }[];
  readonly ms: number;
}

export const text = (words: string): ContentBlock => ({ type: 'text', text: words });

/** From the start of the environment to the first turn. */
export function begin(name: string, system: string, prompt: string, tools: readonly string[]): readonly EventBody[] {
  const versions = { ...VERSIONS, environment: '2.4.1', environment_hash: 'ab12'.repeat(16) };
  return [
    { type: 'run.started', worker: 'worker-1', versions },
    { type: 'environment.ready', name, versions, duration_ms: 412 },
    {
      type: 'setup.completed',
      system,
      prompt: [{ role: 'user', content: prompt }],
      tools: tools.map((tool) => ({ name: tool, description: `The tool ${tool}.`, input_schema: { type: 'object' } })),
      answer_schema: null,
      duration_ms: 164,
    },
    { type: 'turn.started', turn: 1, messages: [{ role: 'user', content: prompt }] },
  ];
}

/** One step: what the model said, its calls, what they gave, and what was logged meanwhile. */
export function toEvents(step: number, { text: content, reasoning, calls = [], ms }: StepParts): readonly EventBody[] {
  const place = { turn: 1, step };
  const made = calls.map((call, index) => ({ ...call, id: `call_${step}_${index}` }));
  return [
    { type: 'model.requested', ...place },
    {
      type: 'model.responded',
      ...place,
      message: {
        role: 'assistant',
        content: content ?? null,
        reasoning: reasoning ?? null,
        tool_calls: made.map(({ id, name, arguments: given }) => ({ id, name, arguments: given, raw_arguments: null })),
      },
      finish_reason: made.length > 0 ? 'tool_calls' : 'stop',
      usage: {
        prompt_tokens: 2_140 + step * 612,
        completion_tokens: 96 + step * 31,
        total_tokens: 2_236 + step * 643,
        cached_tokens: step === 1 ? 0 : 1_900 + step * 540,
        reasoning_tokens: reasoning === undefined ? 0 : 64,
        cost_usd: 0.0031 + step * 0.0007,
      },
      token_ids: null,
      logprobs: null,
      retries: 0,
      duration_ms: ms,
    },
    ...made.flatMap(({ id, name, arguments: given, result, isError = false, ms: toolMs, logs = [] }): EventBody[] => [
      { type: 'tool.called', ...place, tool_call_id: id, name, arguments: given, raw_arguments: null },
      ...logs.map(([level, message]): EventBody => ({ type: 'log', level, logger: 'environment', message })),
      {
        type: 'tool.responded',
        ...place,
        tool_call_id: id,
        name,
        content: [...result],
        structured_content: null,
        is_error: isError,
        duration_ms: toolMs,
      },
    ]),
  ];
}
