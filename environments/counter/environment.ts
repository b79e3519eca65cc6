import { setTimeout as delay } from 'node:timers/promises';
import {
  EnvironmentServer,
  type ScenarioGenerator,
  type ScenarioTask,
  scenario,
  serveMain,
  type ToolContext,
  tool,
} from 'proctor';
import { z } from 'zod';

const Increment = z.object({ by: z.int().default(1).describe('How much to add.') });
const SlowIncrement = z.object({
  delay_ms: z.int().min(0).max(60_000).describe('Milliseconds to wait before counting.'),
});
const CountTo = z.object({ target: z.int().min(0).describe('What the counter has to show in the end.') });
const SlowCount = CountTo.extend(SlowIncrement.shape);

/** Clusters hold what is alike: an agent that can count to 40 can as a rule count to 41. */
const COUNT_TASKS: readonly ScenarioTask<typeof CountTo>[] = [
  { id: 'nothing', args: { target: 0 }, split: 'train', tags: ['edge'] },
  { id: 'one', args: { target: 1 }, split: 'train', tags: ['small'], cluster: 'small' },
  { id: 'three', args: { target: 3 }, split: 'train', tags: ['small'], cluster: 'small' },
  { id: 'seven', args: { target: 7 }, split: 'test', tags: ['small', 'prime'], cluster: 'small' },
  { id: 'forty', args: { target: 40 }, split: 'train', tags: ['medium'], cluster: 'forties' },
  { id: 'forty-one', args: { target: 41 }, split: 'validation', tags: ['medium', 'prime'], cluster: 'forties' },
  { id: 'forty-two', args: { target: 42 }, split: 'test', tags: ['medium'], cluster: 'forties' },
  { id: 'gross', args: { target: 144 }, split: 'validation', tags: ['medium'] },
  { id: 'thousand', args: { target: 1_000 }, split: 'train', tags: ['large'] },
  { id: 'large-prime', args: { target: 7_919 }, split: 'test', tags: ['large', 'prime'] },
  { id: 'million', args: { target: 1_000_000 }, split: 'test', tags: ['large'] },
  { id: 'largest', args: { target: Number.MAX_SAFE_INTEGER }, split: 'test', tags: ['edge', 'large'] },
];

const SLOW_TASKS: readonly ScenarioTask<typeof SlowCount>[] = [
  { id: 'slow-one', args: { target: 1, delay_ms: 20 }, split: 'train', cluster: 'slow' },
  { id: 'slow-three', args: { target: 3, delay_ms: 10 }, split: 'train', cluster: 'slow' },
  { id: 'slow-twelve', args: { target: 12, delay_ms: 0 }, split: 'test', cluster: 'slow', tags: ['many-steps'] },
  { id: 'slow-forty', args: { target: 40, delay_ms: 1 }, split: 'test', cluster: 'slow', tags: ['many-steps'] },
];

/** A counter: the smallest environment with everything in it. Each session has a counter of its own. */
export default class Counter extends EnvironmentServer {
  #count = 0;

  constructor() {
    super({
      name: 'counter',
      version: '1.0.0',
      instructions: 'A counter that starts at 0.',
      sessionsPerProcess: 1_000,
    });
  }

  @tool({ description: 'Adds to the counter and gives what it shows then.', args: Increment })
  increment({ by }: z.output<typeof Increment>): number {
    this.#count += by;
    return this.#count;
  }

  @tool({ description: 'Gives what the counter shows.', annotations: { readOnlyHint: true } })
  read(): number {
    return this.#count;
  }

  @tool({
    name: 'slow_increment',
    description: 'Waits, then adds one to the counter and gives what it shows. A call that is aborted counts nothing.',
    args: SlowIncrement,
  })
  async slowIncrement({ delay_ms }: z.output<typeof SlowIncrement>, { signal }: ToolContext): Promise<number> {
    await delay(delay_ms, undefined, { signal });
    return this.increment({ by: 1 });
  }

  @scenario({
    name: 'count_to',
    description: 'Count from 0 to a target.',
    args: CountTo,
    tasks: COUNT_TASKS,
    solution: ({ target }) => ({
      calls: target === 0 ? [] : [{ name: 'increment', arguments: { by: target } }],
      answer: `The counter shows ${target}.`,
    }),
  })
  async *countTo({ target }: z.output<typeof CountTo>): ScenarioGenerator {
    this.#count = 0;
    yield `Make the counter show exactly ${target}, then say that you are done. It shows 0 now.`;
    return this.#evaluate(target);
  }

  @scenario({
    name: 'slow_count',
    description: 'Count from 0 to a target, slowly.',
    args: SlowCount,
    tasks: SLOW_TASKS,
    solution: ({ target, delay_ms }) => ({
      calls: Array.from({ length: target }, () => ({ name: 'slow_increment', arguments: { delay_ms } })),
      answer: `The counter shows ${target}.`,
    }),
  })
  async *slowCount({ target, delay_ms }: z.output<typeof SlowCount>): ScenarioGenerator {
    this.#count = 0;
    yield `Make the counter show exactly ${target} with slow_increment, waiting ${delay_ms} ms each time, then say that you are done. It shows 0 now.`;
    return this.#evaluate(target);
  }

  #evaluate(target: number) {
    return {
      reward: this.#count === target ? 1 : 0,
      content: `The counter shows ${this.#count}; the target is ${target}.`,
      info: { count: this.#count, target },
    };
  }
}

serveMain(import.meta, Counter);
