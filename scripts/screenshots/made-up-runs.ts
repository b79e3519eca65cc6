import { createHash } from 'node:crypto';
import type { EventBody } from '../../src/contract/service/event.ts';
import type { Database } from '../../src/store/database/database.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import type { TraceStore } from '../../src/store/traces/trace-store.ts';
import { newTrace } from '../../test/store/traces/events.ts';
import { BROKEN, BROWSING, CODING } from '../../test/web/example-traces.ts';
import { MODEL_ERROR, SETUP_ERROR, TOOL_ERRORS, WRONG_ANSWER } from '../../test/web/failed-traces.ts';
import { begin, type ExampleTrace, text, toEvents } from '../../test/web/trace-parts.ts';
import { addMadeUpEvaluations } from './made-up-evaluations.ts';

/** The time at which all pages are looked at: nothing on them depends on when the script runs. */
export const NOW = Date.UTC(2026, 2, 18, 14, 30);

const HOUR_MS = 3_600_000;
const DAYS = 14;
const RUNS_OF_A_DAY = 11;

/** Traces that pages are made of, by what they show. */
export interface MadeUpRuns {
  readonly passed: string;
  readonly nearly: string;
  readonly crashed: string;
  readonly outOfSteps: string;
  readonly wrongAnswer: string;
  readonly toolErrors: string;
  readonly modelError: string;
  readonly setupError: string;
  readonly running: string;
  readonly evaluation: string;
  /** The same tasks with another prompt. */
  readonly nextEvaluation: string;
}

/**
 * Two weeks of runs, and nine that are worth a look, in a store without any. Times and ids are always the same.
 *
 * @param keyIds those that the runs were asked for with, by turns.
 */
export async function addMadeUpRuns(database: Database, keyIds: readonly string[]): Promise<MadeUpRuns> {
  let now = NOW;
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320', now: () => now });
  let count = 0;
  const add = async (example: ExampleTrace, startsAt: number): Promise<string> => {
    now = startsAt;
    count += 1;
    const traceId = createHash('sha256').update(`run ${count}`).digest('hex').slice(0, 32);
    await store.create({ ...newTrace(example.queued, { traceId }), keyId: keyIds[count % keyIds.length] ?? null });
    now += 40;
    await appendInTime(store, traceId, example.bodies, (ms) => {
      now += ms;
    });
    return traceId;
  };

  for (let day = DAYS; day >= 1; day--) {
    for (let index = 0; index < RUNS_OF_A_DAY - (day % 4); index++) {
      await add(ordinaryRun(day * RUNS_OF_A_DAY + index), NOW - day * 24 * HOUR_MS + index * HOUR_MS);
    }
  }
  const evaluations = await addMadeUpEvaluations(database, NOW);
  return {
    ...evaluations,
    setupError: await add(SETUP_ERROR, NOW - 3.2 * HOUR_MS),
    toolErrors: await add(TOOL_ERRORS, NOW - 2.6 * HOUR_MS),
    outOfSteps: await add(BROWSING, NOW - 2.1 * HOUR_MS),
    modelError: await add(MODEL_ERROR, NOW - 1.4 * HOUR_MS),
    crashed: await add(BROKEN, NOW - HOUR_MS),
    wrongAnswer: await add(WRONG_ANSWER, NOW - 0.7 * HOUR_MS),
    nearly: await add(CODING, NOW - 0.4 * HOUR_MS),
    passed: await add(ordinaryRun(1), NOW - 0.2 * HOUR_MS),
    running: await add({ ...CODING, bodies: CODING.bodies.slice(0, lastCall(CODING.bodies) + 1) }, NOW - 20_000),
  };
}

/** Each event when the one before it had ended. */
async function appendInTime(
  store: TraceStore,
  traceId: string,
  bodies: readonly EventBody[],
  passTime: (ms: number) => void,
): Promise<void> {
  for (const body of bodies) {
    passTime('duration_ms' in body ? body.duration_ms : 3);
    await store.append(traceId, 1, [body]);
  }
}

function lastCall(bodies: readonly EventBody[]): number {
  return bodies.findLastIndex(({ type }) => type === 'tool.called');
}

const KINDS = [
  { env_name: 'counter', scenario_name: 'count_to', scenario_args: { target: 12 } },
  { env_name: 'retail', scenario_name: 'task', scenario_args: { task_id: '4' } },
  { env_name: 'workspace', scenario_name: 'repair', scenario_args: { task: 'queue', visible_tests: true } },
  { env_name: 'browser', scenario_name: 'find', scenario_args: { category: 'tea', min_rating: 4 } },
  { env_name: 'retail', scenario_name: 'task', scenario_args: { task_id: '11' } },
] as const;
const MODELS = ['claude-sonnet-5', 'gpt-5-mini', 'gemini-3-flash', 'claude-sonnet-5', 'qwen3-8b'] as const;
const REWARDS = [1, 1, 0.8, 0, 1, 1, 0.5, 1, 0, 1, 0.667, 1, 1] as const;

/** Always the same for a number; a larger one begins like another, so that each environment has some of each reward. */
function ordinaryRun(number: number): ExampleTrace {
  const kind = KINDS[(number * 7) % KINDS.length] ?? KINDS[0];
  const model = MODELS[(number * 3 + (number >> 3)) % MODELS.length] ?? MODELS[0];
  const reward = model === 'qwen3-8b' ? (number % 3) / 2 : (REWARDS[(number * 5) % REWARDS.length] ?? 1);
  const steps = 1 + (number % 4);
  return {
    queued: { ...kind, model, metadata: { suite: number % 2 === 0 ? 'nightly' : 'pull request' } },
    bodies: [
      ...begin(kind.env_name, 'Be exact.', 'Do what the task says.', ['look']),
      ...Array.from({ length: steps }, (_, index) =>
        toEvents(index + 1, {
          calls: [{ name: 'look', arguments: { at: index }, result: [text('as it was')], ms: 40 + (number % 90) }],
          ms: 900 + ((number * 131) % 2_400),
        }),
      ).flat(),
      ...toEvents(steps + 1, { text: 'Done.', ms: 700 + ((number * 71) % 900) }),
      { type: 'turn.finished', turn: 1, status: 'answered', tool_ms: 60 * steps },
      { type: 'answer.submitted', answer: 'Done.' },
      {
        type: 'evaluation.completed',
        evaluation: { reward, done: true, content: null, info: {}, subscores: [], is_error: false },
        duration_ms: 8,
      },
      { type: 'run.finished', status: 'completed', stop_reason: 'answered', reward, error: null },
    ],
  };
}
