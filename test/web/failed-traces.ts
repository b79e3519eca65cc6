import type { EventBody } from '../../src/contract/service/event.ts';
import { CODING } from './example-traces.ts';
import { begin, type ExampleTrace, text, toEvents } from './trace-parts.ts';

const RETAIL_TOOLS = [
  'find_user_id_by_email',
  'get_user_details',
  'get_order_details',
  'cancel_pending_order',
] as const;

const RETAIL: ExampleTrace['queued'] = {
  env_name: 'retail',
  scenario_name: 'task',
  scenario_args: { task_id: '17' },
  model: 'claude-sonnet-5',
  max_steps: 30,
};

const retailBegun = begin(
  'retail',
  "You are at the customer-service desk of a shop. Follow the shop's policy. A change of an order needs the customer's yes.",
  'Hello, I am mei.kovacs@example.com. Please cancel my order #W8065207, I ordered it by mistake.',
  RETAIL_TOOLS,
);

const found = toEvents(1, {
  calls: [
    {
      name: 'find_user_id_by_email',
      arguments: { email: 'mei.kovacs@example.com' },
      result: [text('mei_kovacs_8020')],
      ms: 18,
    },
  ],
  ms: 1_310,
});

/** It did what was asked for, though not what was right: the evaluation says why. */
export const WRONG_ANSWER: ExampleTrace = {
  queued: RETAIL,
  bodies: [
    ...retailBegun,
    ...found,
    ...toEvents(2, {
      calls: [
        {
          name: 'get_order_details',
          arguments: { order_id: '#W8065207' },
          result: [text('{"order_id": "#W8065207", "status": "pending", "items": 2, "paid_with": "gift card"}')],
          ms: 21,
        },
        {
          name: 'cancel_pending_order',
          arguments: { order_id: '#W8065207', reason: 'no longer needed' },
          result: [text('{"order_id": "#W8065207", "status": "cancelled"}')],
          ms: 33,
        },
      ],
      ms: 1_870,
    }),
    ...toEvents(3, { text: 'Your order #W8065207 is cancelled. The money is back on your gift card.', ms: 980 }),
    { type: 'turn.finished', turn: 1, status: 'answered', tool_ms: 72 },
    {
      type: 'answer.submitted',
      answer: 'Your order #W8065207 is cancelled. The money is back on your gift card.',
    },
    {
      type: 'evaluation.completed',
      evaluation: {
        reward: 0,
        done: true,
        content: 'The reason of the cancellation is "no longer needed"; the customer said "ordered by mistake".',
        info: { differing_records: ['orders/#W8065207'], expected_reason: 'ordered by mistake' },
        subscores: [
          { name: 'records', value: 0 },
          { name: 'said what was needed', value: 1 },
        ],
        is_error: false,
      },
      duration_ms: 12,
    },
    { type: 'run.finished', status: 'completed', stop_reason: 'answered', reward: 0, error: null },
  ],
};

const REFUSAL = 'Error: user not found. The id looks like "mei_kovacs_8020": an e-mail address is none.';

/** It calls the same tool in the same wrong way, and gives up. */
export const TOOL_ERRORS: ExampleTrace = {
  queued: { ...RETAIL, scenario_args: { task_id: '23' }, model: 'qwen3-8b' },
  bodies: [
    ...retailBegun,
    ...[1, 2, 3, 4].flatMap((step) =>
      toEvents(step, {
        ...(step === 1 ? { text: 'I will look up your account.' } : {}),
        calls: [
          {
            name: 'get_user_details',
            arguments: { user_id: 'mei.kovacs@example.com' },
            result: [text(REFUSAL)],
            isError: true,
            ms: 9,
          },
        ],
        ms: 740,
      }),
    ),
    ...toEvents(5, { text: 'I am sorry, your account does not exist.', ms: 610 }),
    { type: 'turn.finished', turn: 1, status: 'answered', tool_ms: 36 },
    { type: 'answer.submitted', answer: 'I am sorry, your account does not exist.' },
    {
      type: 'evaluation.completed',
      evaluation: { reward: 0, done: true, content: null, info: {}, subscores: [], is_error: false },
      duration_ms: 9,
    },
    { type: 'run.finished', status: 'completed', stop_reason: 'answered', reward: 0, error: null },
  ],
};

/** The gateway refuses in the middle of the work. */
export const MODEL_ERROR: ExampleTrace = {
  queued: { ...CODING.queued, scenario_args: { task: 'timer', visible_tests: true }, model: 'gpt-5-mini' },
  bodies: [
    ...CODING.bodies.slice(0, 12),
    { type: 'model.requested', turn: 1, step: 2 },
    ...unfinished({
      boundary: 'model',
      code: 'model_failed',
      message:
        'The model "gpt-5-mini" failed after 3 tries: 429 You exceeded your current quota, please check your plan and billing details.',
    }),
  ],
};

/** It never begins: the scenario cannot be set up. */
export const SETUP_ERROR: ExampleTrace = {
  queued: { ...RETAIL, scenario_args: { task_id: '999' } },
  bodies: [
    ...retailBegun.slice(0, 2),
    { type: 'log', level: 'error', logger: 'environment', message: 'tasks.json holds the tasks 0 to 114' },
    ...unfinished({
      boundary: 'setup',
      code: 'environment_failed',
      message:
        'The environment "retail" failed while running the setup of the scenario "task": There is no task "999". Tasks: 0 to 114.',
    }),
  ],
};

/** What is left is evaluated, where there is something, though it is no reward. */
function unfinished(error: Extract<EventBody, { type: 'run.finished' }>['error']): readonly EventBody[] {
  return [{ type: 'run.finished', status: 'failed', stop_reason: 'error', reward: null, error }];
}
