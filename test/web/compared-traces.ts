import type { JsonObject } from '../../src/contract/json.ts';
import type { EventBody } from '../../src/contract/service/event.ts';
import { VERSIONS } from '../store/traces/events.ts';

export interface CallParts {
  readonly name: string;
  readonly arguments?: JsonObject;
  readonly result?: string;
  readonly isError?: boolean;
}

export interface StepParts {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly CallParts[];
}

export interface RunParts {
  readonly steps: readonly StepParts[];
  readonly answer?: string;
  readonly reward?: number;
  readonly subscores?: readonly (readonly [name: string, value: number])[];
  readonly cost?: number | null;
  readonly environmentHash?: string;
  readonly prompt?: string;
}

/** The events of a run that is over, or, without an answer, of one that goes on. */
export function runOf(parts: RunParts): readonly EventBody[] {
  const { steps, answer, reward = 0, subscores = [], prompt = 'Mend the project.' } = parts;
  const versions = { ...VERSIONS, environment_hash: parts.environmentHash ?? null };
  const messages = [{ role: 'user' as const, content: prompt }];
  return [
    { type: 'run.started', worker: 'worker-1', versions },
    { type: 'environment.ready', name: 'workspace', versions, duration_ms: 40 },
    {
      type: 'setup.completed',
      system: 'You work in a checkout.',
      prompt: messages,
      tools: [{ name: 'read_file', description: 'Reads a file.', input_schema: { type: 'object' } }],
      answer_schema: null,
      duration_ms: 2,
    },
    { type: 'turn.started', turn: 1, messages },
    ...steps.flatMap((step, index) => toEvents(index + 1, step, parts.cost ?? null)),
    ...(answer === undefined ? [] : toEnd(answer, reward, subscores)),
  ];
}

function toEvents(step: number, { text, reasoning, calls = [] }: StepParts, cost: number | null): readonly EventBody[] {
  const place = { turn: 1, step };
  const made = calls.map(({ name, arguments: given = {} }, index) => ({
    id: `call_${step}_${index}`,
    name,
    arguments: given,
    raw_arguments: null,
  }));
  return [
    { type: 'model.requested', ...place },
    {
      type: 'model.responded',
      ...place,
      message: { role: 'assistant', content: text ?? null, reasoning: reasoning ?? null, tool_calls: made },
      finish_reason: made.length > 0 ? 'tool_calls' : 'stop',
      usage: {
        prompt_tokens: 1_200 * step,
        completion_tokens: 90,
        total_tokens: 1_200 * step + 90,
        cached_tokens: 0,
        reasoning_tokens: 0,
        cost_usd: cost,
      },
      token_ids: null,
      logprobs: null,
      retries: 0,
      duration_ms: 1_200,
    },
    ...made.flatMap(({ id, ...call }, index): EventBody[] => [
      { type: 'tool.called', ...place, tool_call_id: id, ...call },
      {
        type: 'tool.responded',
        ...place,
        tool_call_id: id,
        name: call.name,
        content: [{ type: 'text', text: calls[index]?.result ?? 'ok' }],
        structured_content: null,
        is_error: calls[index]?.isError ?? false,
        duration_ms: 12,
      },
    ]),
  ];
}

function toEnd(answer: string, reward: number, subscores: NonNullable<RunParts['subscores']>): readonly EventBody[] {
  const evaluation = {
    reward,
    done: true as const,
    content: null,
    info: {},
    subscores: subscores.map(([name, value]) => ({ name, value })),
    is_error: false,
  };
  return [
    { type: 'turn.finished', turn: 1, status: 'answered', tool_ms: 24 },
    { type: 'answer.submitted', answer },
    { type: 'evaluation.completed', evaluation, duration_ms: 3 },
    { type: 'run.finished', status: 'completed', stop_reason: 'answered', reward, error: null },
  ];
}

const QUEUE = 'export class Queue {\n  #items = [];\n\n  pop() {\n    return this.#items.pop();\n  }\n}\n';
const LIST: StepParts = {
  text: 'I will look at what there is.',
  calls: [{ name: 'list_files', arguments: { path: '.' }, result: 'package.json\nsrc/queue.ts\ntest/queue.test.ts' }],
};
const READ: StepParts = {
  text: 'The queue first.',
  calls: [{ name: 'read_file', arguments: { path: 'src/queue.ts' }, result: QUEUE }],
};
const TEST = { name: 'run_command', arguments: { command: 'npm test --silent', timeout_seconds: 60 } };

/** It mends what the tests show, and nothing else. */
export const HASTY: RunParts = {
  cost: 0.0042,
  environmentHash: 'ab12'.repeat(16),
  steps: [
    LIST,
    READ,
    {
      reasoning: 'pop() takes from the end. It has to take from the front.',
      text: 'The queue gives back what was pushed last, so I will take from the front.',
      calls: [
        {
          name: 'edit_file',
          arguments: {
            path: 'src/queue.ts',
            old_str: '  pop() {\n    return this.#items.pop();\n  }',
            new_str: '  pop() {\n    return this.#items.shift();\n  }',
          },
          result: '{"changed": true, "lines": 1}',
        },
      ],
    },
    { calls: [{ ...TEST, result: 'Test Files  3 passed (3)\n     Tests  12 passed (12)' }] },
    { text: 'All tests pass: `Queue.pop` took items from the end of the list.' },
  ],
  answer: '`Queue.pop` took items from the end of the list.',
  reward: 0.778,
  subscores: [
    ['visible tests', 1],
    ['hidden tests', 0.333],
    ['tests untouched', 1],
  ],
};

/** The same task, with a look at the tests in between, and a better edit. */
export const CAREFUL: RunParts = {
  cost: 0.0061,
  environmentHash: 'cd34'.repeat(16),
  steps: [
    LIST,
    {
      text: 'Before I change anything I will run the tests.',
      calls: [{ ...TEST, result: ' FAIL  test/queue.test.ts\nAssertionError: expected 3 to be 1', isError: true }],
    },
    READ,
    {
      reasoning: 'pop() takes from the end. It has to take from the front, and to throw where there is nothing.',
      text: 'The queue gives back what was pushed last, so I will take from the front and throw where it is empty.',
      calls: [
        {
          name: 'edit_file',
          arguments: {
            path: 'src/queue.ts',
            old_str: '  pop() {\n    return this.#items.pop();\n  }',
            new_str:
              "  pop() {\n    if (this.#items.length === 0) throw new Error('The queue is empty');\n    return this.#items.shift();\n  }",
            create: false,
          },
          result: '{"changed": true, "lines": 2}',
        },
      ],
    },
    { calls: [{ ...TEST, result: 'Test Files  3 passed (3)\n     Tests  12 passed (12)' }] },
    { text: 'All tests pass: `Queue.pop` took items from the end of the list, and gave undefined when it was empty.' },
  ],
  answer: '`Queue.pop` took items from the end of the list, and gave undefined when it was empty.',
  reward: 1,
  subscores: [
    ['visible tests', 1],
    ['hidden tests', 1],
    ['tests untouched', 1],
  ],
};

/** What both of them are runs of. */
export const MENDING = {
  env_name: 'workspace',
  scenario_name: 'fix_tests',
  scenario_args: { project: 'queue', hidden_tests: true },
  max_steps: 30,
} as const;
