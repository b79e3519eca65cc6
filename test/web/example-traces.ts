import type { ContentBlock } from '../../src/contract/chat.ts';
import type { EventBody } from '../../src/contract/service/event.ts';
import { drawPng, type Rectangle } from './drawn-png.ts';
import { begin, type ExampleTrace, text, toEvents } from './trace-parts.ts';

const QUEUE_TS = `export class Queue {
  #items = [];

  push(item) {
    this.#items.push(item);
  }

  pop() {
    return this.#items.pop();
  }
}
`;

const REPORT = `> npm test

 FAIL  test/queue.test.ts > keeps the order of what is pushed
AssertionError: expected 3 to be 1
 ❯ test/queue.test.ts:14:28

 Test Files  1 failed | 2 passed (3)
      Tests  1 failed | 11 passed (12)`;

/** A coding task that is nearly solved: an edit, a failing test, and an answer that claims too much. */
export const CODING: ExampleTrace = {
  queued: {
    env_name: 'workspace',
    scenario_name: 'repair',
    scenario_args: { task: 'queue', visible_tests: true },
    model: 'gpt-5-mini',
    max_steps: 30,
    seed: 7,
    sampling: { temperature: 0.2 },
    metadata: { commit: 'c0ffee1', suite: 'nightly' },
  },
  bodies: [
    ...begin(
      'workspace',
      'You work in a checkout of a small project. Change the code, never the tests.',
      'The tests of this project fail. Mend the code so that all of them pass, and say in one sentence what was wrong.',
      ['read_file', 'edit_file', 'run_command', 'list_files'],
    ),
    ...toEvents(1, {
      reasoning: 'I should look at what there is before I run anything. The failing test will tell where to look.',
      text: 'I will look at the project and run its tests.',
      calls: [
        {
          name: 'list_files',
          arguments: { path: '.' },
          result: [text('package.json\nsrc/queue.ts\nsrc/timer.ts\ntest/queue.test.ts\ntest/timer.test.ts')],
          ms: 12,
        },
        {
          name: 'run_command',
          arguments: { command: 'npm test --silent -- --reporter=verbose', timeout_seconds: 60 },
          result: [text(REPORT)],
          isError: true,
          ms: 4_210,
          logs: [
            ['info', 'npm test started in the sandbox'],
            ['warning', 'The sandbox has no network: npm could not look for a newer version'],
          ],
        },
      ],
      ms: 2_340,
    }),
    ...toEvents(2, {
      text: 'The queue gives back what was pushed last. I will read it.',
      calls: [{ name: 'read_file', arguments: { path: 'src/queue.ts' }, result: [text(QUEUE_TS)], ms: 9 }],
      ms: 1_480,
    }),
    ...toEvents(3, {
      reasoning: 'pop() takes from the end. For a queue it has to take from the front: shift().',
      calls: [
        {
          name: 'edit_file',
          arguments: {
            path: 'src/queue.ts',
            old_str: '  pop() {\n    return this.#items.pop();\n  }\n}',
            new_str:
              '  pop() {\n    return this.#items.shift();\n  }\n\n  get size() {\n    return this.#items.length;\n  }\n}',
          },
          result: [text('{"changed": true, "lines": 4}')],
          ms: 14,
        },
      ],
      ms: 1_960,
    }),
    ...toEvents(4, {
      calls: [
        {
          name: 'run_command',
          arguments: { command: 'npm test --silent -- --reporter=verbose', timeout_seconds: 60 },
          result: [text('Test Files  3 passed (3)\n     Tests  12 passed (12)')],
          ms: 3_870,
        },
      ],
      ms: 1_120,
    }),
    ...toEvents(5, {
      text: 'All tests pass now: `Queue.pop` took items from the end of the list, so the last one pushed came out first. It takes them from the front now.',
      ms: 1_640,
    }),
    { type: 'turn.finished', turn: 1, status: 'answered', tool_ms: 8_103 },
    {
      type: 'answer.submitted',
      answer: '`Queue.pop` took items from the end of the list, so the last one pushed came out first.',
    },
    {
      type: 'evaluation.completed',
      evaluation: {
        reward: 0.889,
        done: true,
        content: '12 of 12 visible tests pass; 1 of 3 hidden tests fails: a queue that is empty has to throw.',
        info: {
          hidden_tests: {
            passed: 2,
            failed: 1,
            first_failure: 'test/hidden/empty.test.ts: expected [Function] to throw an error',
          },
          changed_files: ['src/queue.ts'],
          tests_untouched: true,
        },
        subscores: [
          { name: 'visible tests', value: 1, weight: 1 },
          { name: 'hidden tests', value: 0.667, weight: 1 },
          { name: 'tests untouched', value: 1, weight: 1 },
        ],
        is_error: false,
      },
      duration_ms: 2_310,
    },
    { type: 'run.finished', status: 'completed', stop_reason: 'answered', reward: 0.889, error: null },
  ],
};

/** The environment dies in the middle of a tool call. */
export const BROKEN: ExampleTrace = {
  queued: { ...CODING.queued, scenario_args: { task: 'billing', visible_tests: true }, model: 'claude-sonnet-5' },
  bodies: [
    ...CODING.bodies.slice(0, 12),
    { type: 'model.requested', turn: 1, step: 2 },
    ...toEvents(2, {
      text: 'I will install what is missing and run the migration.',
      calls: [],
      ms: 1_730,
    })
      .slice(1)
      .map((body) => (body.type === 'model.responded' ? withCall(body) : body)),
    {
      type: 'tool.called',
      turn: 1,
      step: 2,
      tool_call_id: 'call_2_0',
      name: 'run_command',
      arguments: { command: 'node scripts/migrate.js --from 2019 --to 2026' },
      raw_arguments: null,
    },
    { type: 'log', level: 'info', logger: 'environment', message: 'migrate: 1,842,113 rows to read' },
    { type: 'log', level: 'warning', logger: 'environment', message: 'migrate: heap at 1.9 GB of 2.0 GB' },
    {
      type: 'log',
      level: 'error',
      logger: 'environment',
      message: 'FATAL ERROR: Reached heap limit. Allocation failed - JavaScript heap out of memory',
    },
    {
      type: 'run.finished',
      status: 'failed',
      stop_reason: 'error',
      reward: null,
      error: {
        boundary: 'environment',
        code: 'environment_failed',
        message: 'The environment "workspace" ended with signal SIGABRT while run_command was running.',
      },
    },
  ],
};

function withCall(body: Extract<EventBody, { type: 'model.responded' }>): EventBody {
  const call = {
    id: 'call_2_0',
    name: 'run_command',
    arguments: { command: 'node scripts/migrate.js --from 2019 --to 2026' },
    raw_arguments: null,
  };
  return { ...body, message: { ...body.message, tool_calls: [call] }, finish_reason: 'tool_calls' };
}

const SCREEN = { width: 960, height: 600 } as const;

/** Something like a shop in a browser. */
function screenshot(stage: number): ContentBlock {
  const card = (index: number): Rectangle[] => [
    { x: 60 + index * 220, y: 150, width: 190, height: 230, colour: 0xffffff },
    {
      x: 75 + index * 220,
      y: 165,
      width: 160,
      height: 110,
      colour: [0xd7e3f8, 0xf8e3d0, 0xdcefdc, 0xeadcf5][index] ?? 0,
    },
    { x: 75 + index * 220, y: 292, width: 120, height: 10, colour: 0x555a60 },
    { x: 75 + index * 220, y: 312, width: 80, height: 8, colour: 0xa5abb2 },
    { x: 75 + index * 220, y: 340, width: 90, height: 26, colour: stage > 0 && index === 1 ? 0x2f8f5b : 0x2f5bd0 },
  ];
  const rectangles: Rectangle[] = [
    { x: 0, y: 0, ...SCREEN, colour: 0xf1f3f5 },
    { x: 0, y: 0, width: SCREEN.width, height: 64, colour: 0x22303f },
    { x: 60, y: 24, width: 120, height: 16, colour: 0xffffff },
    { x: 800, y: 20, width: 100, height: 24, colour: stage > 0 ? 0x2f8f5b : 0x46586b },
    { x: 60, y: 96, width: 300, height: 18, colour: 0x33383d },
    ...[0, 1, 2, 3].flatMap(card),
    ...(stage < 2
      ? []
      : [
          { x: 560, y: 64, width: 360, height: 420, colour: 0xffffff },
          { x: 590, y: 100, width: 200, height: 14, colour: 0x33383d },
          { x: 590, y: 400, width: 300, height: 44, colour: 0xc2410c },
        ]),
  ];
  return {
    type: 'image',
    data: drawPng(SCREEN.width, SCREEN.height, rectangles).toString('base64'),
    mimeType: 'image/png',
  };
}

/** A shop in a browser, seen and clicked by a model that runs out of steps. */
export const BROWSING: ExampleTrace = {
  queued: {
    env_name: 'browser',
    scenario_name: 'buy',
    scenario_args: { product: 'Green tea', quantity: 1, city: 'Bremen' },
    model: 'gemini-3-flash',
    max_steps: 4,
  },
  bodies: [
    ...begin(
      'browser',
      'You see a shop through screenshots of 960 × 600 pixels.',
      'Buy one packet of green tea for 12 at most.',
      ['screenshot', 'click', 'type'],
    ),
    ...toEvents(1, { calls: [{ name: 'screenshot', arguments: {}, result: [screenshot(0)], ms: 180 }], ms: 900 }),
    ...toEvents(2, {
      text: 'The second product is the tea.',
      calls: [{ name: 'click', arguments: { x: 340, y: 352 }, result: [screenshot(1)], ms: 260 }],
      ms: 1_240,
    }),
    ...toEvents(3, {
      calls: [{ name: 'click', arguments: { x: 850, y: 32 }, result: [screenshot(2)], ms: 240 }],
      ms: 1_020,
    }),
    ...toEvents(4, {
      text: 'Now I pay.',
      calls: [
        {
          name: 'click',
          arguments: { x: 740, y: 422 },
          result: [text('The button is not enabled: a delivery address is missing.')],
          isError: true,
          ms: 75,
        },
      ],
      ms: 980,
    }),
    { type: 'turn.finished', turn: 1, status: 'max_steps', tool_ms: 755 },
    { type: 'answer.submitted', answer: 'Now I pay.' },
    {
      type: 'evaluation.completed',
      evaluation: {
        reward: 0,
        done: true,
        content: 'No order was placed.',
        info: { orders: [] },
        subscores: [],
        is_error: false,
      },
      duration_ms: 30,
    },
    { type: 'run.finished', status: 'completed', stop_reason: 'max_steps', reward: 0, error: null },
  ],
};
