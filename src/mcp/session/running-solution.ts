import type { Json } from '../../contract/json.ts';
import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import type { Solution } from '../../contract/scenario.ts';
import type {
  ScenarioDefinition,
  SolutionCall,
  SolutionGenerator,
  SolutionSource,
  SolutionToolResult,
} from '../../environment/definition.ts';
import { ToolError } from '../../environment/tool-result.ts';
import { type Report, runCleanup } from '../cleanup.ts';

interface Running {
  readonly name: string;
  readonly generator: SolutionGenerator;
  /** How many calls it has given. */
  calls: number;
}

/** The solutions of a session. One that is a generator gives one call for each request and is kept in between. */
export class RunningSolution {
  readonly #report: Report;
  #running: Running | undefined;

  constructor(report: Report) {
    this.#report = report;
  }

  /**
   * Starts the scenario's solution, or with `results` (all so far) goes on with it.
   *
   * @throws ToolError when there is none, or when the results are not those of its calls; what the author's code throws.
   */
  async next(scenario: ScenarioDefinition, args: unknown, results: readonly SolutionToolResult[]): Promise<Solution> {
    const last = results.at(-1);
    if (last !== undefined) return this.#step(this.#runningOne(scenario.name, results.length), last);
    if (scenario.solution === undefined) throw new ToolError(`The scenario ${scenario.name} has no solution`);
    await this.close(SHUTDOWN_GRACE_MS.environment);
    const source = scenario.solution(args);
    if (!isGenerator(source)) {
      const { calls, answer } = await source;
      return { calls: calls.map(toCall), answer: toAnswer(answer), done: true };
    }
    const running: Running = { name: scenario.name, generator: source, calls: 0 };
    this.#running = running;
    return this.#step(running, undefined);
  }

  /** Never rejects. */
  async close(budgetMs: number): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    const step = {
      name: `The solution of the scenario ${running.name}`,
      run: () => running.generator.return(undefined),
    };
    await runCleanup([step], budgetMs, this.#report);
  }

  async #step(running: Running, result: SolutionToolResult | undefined): Promise<Solution> {
    let isOver = true;
    try {
      // The first `next` of a generator starts it: there is no yield yet that could receive what it is given.
      const { done, value } = await running.generator.next(result as SolutionToolResult);
      if (done === true) return { calls: [], answer: toAnswer(value), done: true };
      running.calls += 1;
      isOver = false;
      return { calls: [toCall(value)], answer: null, done: false };
    } finally {
      if (isOver && this.#running === running) this.#running = undefined;
    }
  }

  #runningOne(name: string, results: number): Running {
    const running = this.#running;
    if (running?.name !== name) throw new ToolError(`No solution of the scenario ${name} is under way in this session`);
    if (running.calls === results) return running;
    throw new ToolError(
      `The solution of the scenario ${name} has given ${running.calls} calls, got ${results} results`,
    );
  }
}

function isGenerator(source: SolutionSource): source is SolutionGenerator {
  return Symbol.asyncIterator in source;
}

function toCall({ name, arguments: args }: SolutionCall): Solution['calls'][number] {
  const given = Object.entries(args).filter((entry): entry is [string, Json] => entry[1] !== undefined);
  return { name, arguments: Object.fromEntries(given) };
}

function toAnswer(answer: unknown): Solution['answer'] {
  return (answer ?? null) as Solution['answer'];
}
