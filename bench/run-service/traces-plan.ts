import type { EventBody, TraceEvent } from '../../src/contract/service/event.ts';
import type { Origin } from '../../src/contract/service/trace.ts';
import type { NewTrace } from '../../src/store/traces/trace-store.ts';

/** One made-up trace, before its events. Times in milliseconds since 1970. */
export interface PlannedTrace {
  readonly traceId: string;
  readonly account: string;
  readonly keyId: string | null;
  readonly createdAt: number;
  readonly queued: NewTrace['queued'];
  readonly end: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled';
  readonly reward: number | null;
  readonly steps: number;
  readonly queuedMs: number;
  readonly stepMs: number;
  readonly promptTokens: number;
}

export interface TracePlanOptions {
  readonly count: number;
  readonly seed: number;
  /** When the newest was created, milliseconds since 1970. */
  readonly endsAt: number;
}

export const MAIN_ACCOUNT = 'local';
const DAY_MS = 86_400_000;
const SPAN_MS = 90 * DAY_MS;
/** The newest of all have not ended: so many run, and so many wait. */
const UNFINISHED = { running: 30, queued: 60 } as const;

/** By weight. What is rare is there a few times in a million. */
const SCENARIOS: readonly (readonly [weight: number, env: string, scenario: string, tool: string])[] = [
  [160, 'retail', 'return_order', 'get_order_details'],
  [120, 'retail', 'exchange_item', 'get_order_details'],
  [90, 'retail', 'cancel_order', 'cancel_pending_order'],
  [60, 'retail', 'change_address', 'modify_address'],
  [40, 'retail', 'ask_for_refund', 'get_order_details'],
  [90, 'workspace', 'fix_failing_test', 'run'],
  [70, 'workspace', 'add_endpoint', 'edit_file'],
  [45, 'workspace', 'rename_module', 'edit_file'],
  [30, 'workspace', 'review_change', 'read_file'],
  [60, 'browser', 'book_flight', 'click'],
  [50, 'browser', 'fill_form', 'type'],
  [35, 'browser', 'find_price', 'navigate'],
  [50, 'counter', 'count_to', 'increment'],
  [20, 'counter', 'count_back', 'decrement'],
  [25, 'sql', 'answer_question', 'query'],
  [20, 'sql', 'repair_query', 'query'],
  [15, 'mail', 'find_invoice', 'search_mail'],
  [10, 'mail', 'schedule_meeting', 'create_event'],
  [8, 'chess', 'mate_in_two', 'move'],
  [0.02, 'archive', 'restore_snapshot', 'restore'],
];

const MODELS: readonly (readonly [number, string])[] = [
  [340, 'openai/gpt-5-mini'],
  [260, 'anthropic/claude-sonnet-4.5'],
  [170, 'qwen/qwen3-32b'],
  [110, 'openai/gpt-5'],
  [70, 'google/gemini-2.5-pro'],
  [40, 'local/finetune-07'],
  [9.98, 'proctor/oracle'],
  [0.02, 'proctor/noop'],
];

const ORIGINS: readonly (readonly [number, Origin])[] = [
  [900, 'run'],
  [80, 'eval'],
  [20, 'chat'],
];

const ENDS: readonly (readonly [number, 'completed' | 'failed' | 'cancelled'])[] = [
  [945, 'completed'],
  [45, 'failed'],
  [10, 'cancelled'],
];

const TEAMS: readonly (readonly [number, string])[] = [
  [500, 'research'],
  [300, 'product'],
  [199.98, 'infra'],
  [0.02, 'interns'],
];

const ACCOUNTS: readonly (readonly [number, string])[] = [
  [970, MAIN_ACCOUNT],
  [20, 'acme'],
  [10, 'umbrella'],
];

/** The same traces for the same seed, oldest first: more of them each day than on the one before. */
export function* planTraces({ count, seed, endsAt }: TracePlanOptions): Generator<PlannedTrace> {
  const random = createRandom(seed);
  for (let index = 0; index < count; index++) {
    const left = count - index;
    const createdAt = Math.floor(endsAt - SPAN_MS * (1 - Math.sqrt(index / count)));
    yield planTrace(random, index, createdAt, left);
  }
}

function planTrace(random: Random, index: number, createdAt: number, left: number): PlannedTrace {
  const [, env, scenario] = pickEntry(random, SCENARIOS);
  const model = pick(random, MODELS);
  const end = endOf(random, left);
  const steps = end === 'queued' ? 0 : 1 + Math.floor(random() ** 3 * 24);
  const account = end === 'queued' || end === 'running' ? MAIN_ACCOUNT : pick(random, ACCOUNTS);
  const isByKey = random() < 0.7;
  return {
    traceId: Array.from({ length: 4 }, () => hex(random)).join(''),
    account,
    keyId: isByKey ? `key_${account}_${random() < 0.8 ? 'ci' : 'notebook'}` : null,
    createdAt,
    queued: {
      origin: pick(random, ORIGINS),
      env_name: env,
      scenario_name: scenario,
      scenario_args: { task: Math.floor(random() * 200) },
      model,
      max_steps: 30,
      timeout_seconds: 3_600,
      seed: Math.floor(random() * 1_000_000),
      sampling: { temperature: 0.7 },
      metadata: {
        suite: 'regression',
        team: pick(random, TEAMS),
        commit: (Math.floor(index / 500) * 2_654_435_761).toString(16).slice(0, 7),
      },
      priority: 0,
    },
    end,
    reward: end === 'completed' ? rewardOf(random) : null,
    steps,
    queuedMs: Math.floor(random() * 400),
    stepMs: 200 + Math.floor(random() ** 2 * 6_000),
    promptTokens: 400 + Math.floor(random() * 3_000),
  };
}

function endOf(random: Random, left: number): PlannedTrace['end'] {
  if (left <= UNFINISHED.queued) return 'queued';
  if (left <= UNFINISHED.queued + UNFINISHED.running) return 'running';
  return pick(random, ENDS);
}

/** Most fail or pass; some pass in part, by twentieths or by any number; a few have a bonus. */
function rewardOf(random: Random): number {
  const kind = random();
  if (kind < 0.35) return 0;
  if (kind < 0.78) return 1;
  if (kind < 0.9) return Math.floor(random() * 20) / 20;
  return kind < 0.99998 ? random() : 1.5;
}

/** All events that the run of a planned trace writes, as far as it has come. */
export function toEvents(plan: PlannedTrace): TraceEvent[] {
  const bodies: [afterMs: number, EventBody][] = [[0, { type: 'run.queued', ...plan.queued, previous_end: null }]];
  if (plan.end !== 'queued') bodies.push(...startOf(plan));
  for (let step = 1; step <= plan.steps; step++) bodies.push(...stepOf(plan, step));
  if (plan.end !== 'queued' && plan.end !== 'running') bodies.push(...endingOf(plan, plan.end));
  let at = plan.createdAt;
  return bodies.map(([afterMs, body], index) => {
    at += afterMs;
    return { seq: index + 1, at: new Date(at).toISOString(), attempt: 1, ...body };
  });
}

type Timed = [afterMs: number, body: EventBody];

const VERSIONS = {
  proctor: '0.1.0',
  environment: '1.4.0',
  environment_hash: null,
  protocol: '2025-11-25',
  node: '20.20.0',
};

function startOf({ queued, queuedMs }: PlannedTrace): Timed[] {
  const prompt = [{ role: 'user' as const, content: `${toSentence(queued.scenario_name)}: task ${queued.seed}.` }];
  const names = [...new Set(SCENARIOS.filter(([, env]) => env === queued.env_name).map(([, , , tool]) => tool))];
  const tools = names.map((name) => ({ name, description: toSentence(name), input_schema: TOOL_SCHEMA }));
  return [
    [queuedMs, { type: 'run.started', worker: 'worker-1', versions: VERSIONS }],
    [40, { type: 'environment.ready', name: queued.env_name, versions: VERSIONS, duration_ms: 40 }],
    [3, { type: 'setup.completed', system: SYSTEM, prompt, tools, answer_schema: null, duration_ms: 3 }],
    [0, { type: 'turn.started', turn: 1, messages: prompt }],
  ];
}

const SYSTEM =
  'You work for the support of a shop. Use the tools, change nothing that was not asked for, and be brief.';
const TOOL_SCHEMA = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };

/** The last one answers; the others call the tool of the scenario once. */
function stepOf({ queued, steps, stepMs, promptTokens, end }: PlannedTrace, step: number): Timed[] {
  const isAnswer = step === steps && end === 'completed';
  const name = SCENARIOS.find(([, , scenario]) => scenario === queued.scenario_name)?.[3] ?? 'tool';
  const call = { id: `call_${step}`, name, arguments: { id: `W${step * 7_919}` }, raw_arguments: null };
  const completionTokens = 20 + (step % 7) * 30;
  const usage = {
    prompt_tokens: promptTokens + step * 150,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + step * 150 + completionTokens,
    cached_tokens: step > 1 ? promptTokens : 0,
    reasoning_tokens: 0,
    cost_usd: null,
  };
  const events: Timed[] = [
    [1, { type: 'model.requested', turn: 1, step }],
    [
      stepMs,
      {
        type: 'model.responded',
        turn: 1,
        step,
        message: {
          role: 'assistant',
          content: isAnswer ? 'It is done: the order was changed as asked.' : null,
          reasoning: null,
          tool_calls: isAnswer ? [] : [call],
        },
        finish_reason: isAnswer ? 'stop' : 'tool_calls',
        usage,
        token_ids: null,
        logprobs: null,
        retries: 0,
        duration_ms: stepMs,
      },
    ],
  ];
  if (isAnswer) return events;
  const of = { turn: 1, step, tool_call_id: call.id, name };
  events.push(
    [1, { type: 'tool.called', ...of, arguments: call.arguments, raw_arguments: null }],
    [
      5,
      {
        type: 'tool.responded',
        ...of,
        content: [{ type: 'text', text: `Order ${call.arguments.id}: delivered, 3 items.` }],
        structured_content: null,
        is_error: step % 11 === 0,
        duration_ms: 5,
      },
    ],
  );
  return events;
}

function endingOf({ reward, steps }: PlannedTrace, status: 'completed' | 'failed' | 'cancelled'): Timed[] {
  if (status === 'cancelled') {
    return [[2, { type: 'run.finished', status, stop_reason: 'cancelled', reward: null, error: null }]];
  }
  if (status === 'failed') {
    const error = { boundary: 'model' as const, code: 'model_failed' as const, message: 'The gateway answered 500.' };
    return [[2, { type: 'run.finished', status, stop_reason: 'error', reward: null, error }]];
  }
  const evaluation = {
    reward: reward ?? 0,
    done: true as const,
    content: null,
    info: {},
    subscores: [],
    is_error: false,
  };
  return [
    [1, { type: 'turn.finished', turn: 1, status: 'answered', tool_ms: 5 * (steps - 1) }],
    [0, { type: 'answer.submitted', answer: 'It is done: the order was changed as asked.' }],
    [2, { type: 'evaluation.completed', evaluation, duration_ms: 2 }],
    [1, { type: 'run.finished', status, stop_reason: 'answered', reward, error: null }],
  ];
}

function toSentence(name: string): string {
  const words = name.replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** 0 to 1, without 1. */
type Random = () => number;

/** Mulberry32: the same numbers for the same seed on every machine. */
function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function hex(random: Random): string {
  return Math.floor(random() * 4_294_967_296)
    .toString(16)
    .padStart(8, '0');
}

function pick<Value>(random: Random, entries: readonly (readonly [number, Value])[]): Value {
  return pickEntry(random, entries)[1];
}

function pickEntry<Entry extends readonly [number, ...unknown[]]>(random: Random, entries: readonly Entry[]): Entry {
  let left = random() * entries.reduce((total, [weight]) => total + weight, 0);
  for (const entry of entries) {
    left -= entry[0];
    if (left < 0) return entry;
  }
  const [first] = entries;
  if (first === undefined) throw new Error('there is nothing to pick from');
  return first;
}
