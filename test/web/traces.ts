import type { ContentBlock } from '../../src/contract/chat.ts';
import type { JsonObject } from '../../src/contract/json.ts';
import type { EventBody } from '../../src/contract/service/event.ts';
import { type newTrace, VERSIONS } from '../store/traces/events.ts';

/** A red dot. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==';

export const QUEUED: NonNullable<Parameters<typeof newTrace>[0]> = {
  env_name: 'desk',
  scenario_name: 'exchange',
  scenario_args: { order_id: '#W2378156', items: [1, 2] },
  model: 'gpt-5-mini',
  max_steps: 30,
  seed: 7,
  sampling: { temperature: 0.25 },
  metadata: { commit: 'c0ffee', team: 'support' },
};

const usage = (prompt: number, completion: number, cost: number | null) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  cached_tokens: 128,
  reasoning_tokens: 64,
  cost_usd: cost,
});

interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments?: JsonObject;
  readonly raw?: string;
}

function responded(
  step: number,
  message: { readonly content?: string; readonly reasoning?: string; readonly refusal?: string },
  calls: readonly Call[] = [],
  retries = 0,
): EventBody {
  return {
    type: 'model.responded',
    turn: 1,
    step,
    message: {
      role: 'assistant',
      content: message.content ?? null,
      reasoning: message.reasoning ?? null,
      ...(message.refusal === undefined ? {} : { refusal: message.refusal }),
      tool_calls: calls.map((call) => ({
        id: call.id,
        name: call.name,
        arguments: call.arguments ?? {},
        raw_arguments: call.raw ?? null,
      })),
    },
    finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
    usage: usage(1_840 + step * 97, 212, 0.0042),
    token_ids: null,
    logprobs: null,
    retries,
    duration_ms: 1_640,
  };
}

function called(step: number, call: Call): EventBody {
  return {
    type: 'tool.called',
    turn: 1,
    step,
    tool_call_id: call.id,
    name: call.name,
    arguments: call.arguments ?? {},
    raw_arguments: call.raw ?? null,
  };
}

function answered(
  step: number,
  call: Call,
  content: ContentBlock[],
  other: { readonly isError?: boolean; readonly structured?: JsonObject } = {},
): EventBody {
  return {
    type: 'tool.responded',
    turn: 1,
    step,
    tool_call_id: call.id,
    name: call.name,
    content,
    structured_content: other.structured ?? null,
    is_error: other.isError ?? false,
    duration_ms: 14,
  };
}

const text = (words: string): ContentBlock => ({ type: 'text', text: words });

export const begun: readonly EventBody[] = [
  { type: 'run.started', worker: 'worker_1', versions: { ...VERSIONS, environment: null } },
  {
    type: 'environment.ready',
    name: 'desk',
    versions: { ...VERSIONS, environment: '2.4.1', environment_hash: 'ab'.repeat(32) },
    duration_ms: 164,
  },
];

const PROMPT: Extract<EventBody, { type: 'setup.completed' }>['prompt'] = [
  { role: 'user', content: 'I want to exchange two items.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Here is a photograph of the damage.' },
      { type: 'image', data: PNG, mimeType: 'image/png' },
    ],
  },
];

export const setUp: EventBody = {
  type: 'setup.completed',
  system: 'You are a desk agent.\nNever give a refund without an order number.',
  prompt: PROMPT,
  tools: [
    {
      name: 'find_order',
      description: 'Finds an order by its number.',
      input_schema: { type: 'object', properties: { order_id: { type: 'string' } }, required: ['order_id'] },
    },
    { name: 'photograph', description: 'Takes a photograph of an item.', input_schema: { type: 'object' } },
  ],
  answer_schema: { type: 'object', properties: { resolution: { type: 'string' } } },
  duration_ms: 12,
};

export const turnStarted: EventBody = {
  type: 'turn.started',
  turn: 1,
  messages: PROMPT,
};

const FIND: Call = { id: 'call_1', name: 'find_order', arguments: { order_id: '#W2378156' } };
const USER: Call = { id: 'call_2', name: 'find_user', arguments: { email: 'yusuf@example.com' } };
const BROKEN: Call = { id: 'call_3', name: 'exchange_items', raw: '{"order_id": "#W2378156", "items": [1, 2' };
const PHOTO: Call = { id: 'call_4', name: 'photograph', arguments: { item: 1 } };
const UNANSWERED: Call = { id: 'call_5', name: 'notify_warehouse', arguments: { item: 2 } };

/** The middle of a run: parallel calls, arguments that are no JSON, errors, images. `blob` refers to stored bytes. */
export function steps(blob: string): readonly EventBody[] {
  return [
    turnStarted,
    { type: 'model.requested', turn: 1, step: 1 },
    responded(
      1,
      { content: 'I will look that up.', reasoning: 'The order comes first, then its owner.' },
      [FIND, USER],
      2,
    ),
    called(1, FIND),
    called(1, USER),
    answered(1, USER, [text('No user has this address.')], { isError: true }),
    answered(1, FIND, [text('{"order_id":"#W2378156","status":"delivered","items":[1,2]}')], {
      structured: { order_id: '#W2378156', status: 'delivered', items: [1, 2] },
    }),
    { type: 'log', level: 'warning', logger: 'environment', message: 'The stock list is 3 days old.' },
    { type: 'model.requested', turn: 1, step: 2 },
    responded(2, {}, [BROKEN]),
    called(2, BROKEN),
    answered(2, BROKEN, [text('The arguments are not JSON: Unexpected end of input.')], { isError: true }),
    { type: 'model.requested', turn: 1, step: 3 },
    responded(3, { content: 'Let me take photographs.' }, [PHOTO, UNANSWERED]),
    called(3, PHOTO),
    answered(
      3,
      PHOTO,
      [
        { type: 'image', data: PNG, mimeType: 'image/png' },
        { type: 'image', data: blob, mimeType: 'image/png' },
        { type: 'image', data: 'PHN2Zy8+', mimeType: 'image/svg+xml' },
        { type: 'resource_link', uri: 'desk://photographs/1', name: 'The original' },
      ],
      { structured: { taken: 3, place: 'the second shelf' } },
    ),
  ];
}

export const ending: readonly EventBody[] = [
  { type: 'model.requested', turn: 1, step: 4 },
  responded(4, { content: 'The items are exchanged.' }),
  { type: 'turn.finished', turn: 1, status: 'answered', tool_ms: 31 },
  { type: 'answer.submitted', answer: { resolution: 'exchanged', items: [1, 2] } },
  {
    type: 'evaluation.completed',
    evaluation: {
      reward: 0.625,
      done: true,
      content: 'One of two items was exchanged for the right one.',
      info: { differing_records: ['orders/#W2378156'], not_judged: ['The agent was polite.'] },
      subscores: [
        { name: 'right items', value: 0.5, weight: 3 },
        { name: 'right owner', value: 1, weight: 1 },
      ],
      is_error: false,
    },
    duration_ms: 6,
  },
  { type: 'run.finished', status: 'completed', stop_reason: 'answered', reward: 0.625, error: null },
];

/** A run that failed because of its environment, with what that said last. */
export function failedInSetup(
  message = 'The environment ended with exit code 3 while "exchange" was set up',
): readonly EventBody[] {
  return [
    ...begun,
    { type: 'log', level: 'info', logger: 'environment', message: 'Loading 1,842 orders' },
    { type: 'log', level: 'error', logger: 'environment', message: 'orders.json: no such file' },
    {
      type: 'run.finished',
      status: 'failed',
      stop_reason: 'error',
      reward: null,
      error: { boundary: 'setup', code: 'environment_failed', message },
    },
  ];
}
