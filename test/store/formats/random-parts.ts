import type { HarnessUsage, Usage } from '../../../src/contract/chat.ts';
import type { EventBody } from '../../../src/contract/service/event.ts';
import type { SeededRandom } from '../../../src/models/gateway/reference/seeded-random.ts';

const TEXTS = [
  '',
  ' ',
  'Count to three',
  'naïve ☃ 👩‍🚀',
  'a "quoted" \\ line\nand another\r\n',
  '\u0000\u2028',
  '{"a":1}',
  '[image]',
];

export type Recorder = (body: EventBody) => void;

/** What a simulated user answered to a turn. */
export function replyAsUser(random: SeededRandom, turn: number, record: Recorder): void {
  const calls = list(random, 0, 2, () => ({
    name: 'see',
    arguments: { n: 1 },
    text: text(random),
    is_error: random.chance(0.2),
  }));
  record({
    type: 'user.responded',
    turn,
    message: random.chance(0.2) ? null : text(random),
    is_over: random.chance(0.3),
    model: random.chance(0.3) ? null : 'some/user',
    calls,
    usage: harnessUsage(random),
    duration_ms: random.integer(0, 90),
  });
}

/** What models of the harness said in the evaluation. */
export function judge(random: SeededRandom, record: Recorder): void {
  for (let more = random.integer(0, 2); more > 0; more--) {
    const vote = { score: 1, reason: text(random) };
    record({
      type: 'judge.responded',
      model: 'some/judge',
      key: 'f'.repeat(64),
      rubric: text(random),
      material: text(random),
      scale: random.pick(['boolean' as const, { min: 0, max: 4 }]),
      score: 0.5,
      agreement: 1,
      votes: list(random, 1, 3, () => vote),
      usage: harnessUsage(random),
      duration_ms: random.integer(0, 90),
    });
  }
  for (let more = random.integer(0, 2); more > 0; more--) {
    record({ type: 'sample.responded', model: 'some/model', usage: harnessUsage(random), duration_ms: 5 });
  }
}

function harnessUsage(random: SeededRandom): HarnessUsage {
  const { prompt_tokens, completion_tokens, total_tokens, cost_usd } = usage(random);
  return { model_calls: random.integer(1, 3), prompt_tokens, completion_tokens, total_tokens, cost_usd };
}

export function usage(random: SeededRandom): Usage {
  const prompt = random.integer(0, 2_000);
  const completion = random.integer(0, 300);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    cached_tokens: random.integer(0, prompt),
    reasoning_tokens: random.integer(0, completion),
    cost_usd: random.chance(0.5) ? null : random.integer(0, 100) / 1_000,
  };
}

export function list<T>(random: SeededRandom, least: number, most: number, make: (index: number) => T): T[] {
  return Array.from({ length: random.integer(least, most) }, (_, index) => make(index));
}

export function text(random: SeededRandom): string {
  return random.pick(TEXTS);
}
