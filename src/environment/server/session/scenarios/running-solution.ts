import { isJsonObject, type Json } from '../../../../contract/json.ts';
import { SHUTDOWN_GRACE_MS } from '../../../../contract/names.ts';
import type { Solution } from '../../../../contract/scenario.ts';
import { asFields, preview } from '../../../../support/schema/json-schema.ts';
import type {
  ScenarioDefinition,
  SolutionCall,
  SolutionGenerator,
  SolutionSource,
  SolutionToolResult,
} from '../../../authoring/definition.ts';
import { readAnswer } from '../../../authoring/scenario.ts';
import { describeIssues } from '../../../authoring/schema/schema.ts';
import { ToolError } from '../../../authoring/tool-result.ts';
import { type Report, runCleanup } from '../../cleanup.ts';

interface SolutionRun {
  readonly scenario: ScenarioDefinition;
  readonly generator: SolutionGenerator;
  /** Number of calls that it has returned. */
  calls: number;
}

/** The solutions of a session. A generator gives one call for each request and is kept between requests. */
export class RunningSolution {
  readonly #report: Report;
  #running: SolutionRun | undefined;

  constructor(report: Report) {
    this.#report = report;
  }

  /**
   * Starts the scenario's solution. With `results` (all results so far) it continues the solution.
   *
   * @throws ToolError if there is no solution, or if the results do not belong to its calls; any error of the author's
   *   code.
   */
  async next(scenario: ScenarioDefinition, args: unknown, results: readonly SolutionToolResult[]): Promise<Solution> {
    const last = results.at(-1);
    if (last !== undefined) return this.#step(this.#runningOne(scenario.name, results.length), last);
    if (scenario.solution === undefined) throw new ToolError(`The scenario ${scenario.name} has no solution`);
    await this.close(SHUTDOWN_GRACE_MS.environment);
    const source = scenario.solution(args);
    if (!isGenerator(source)) {
      const given = await source;
      if (!isJsonObject(given) || !Array.isArray(given.calls)) {
        throw new TypeError(
          `It has to give { calls, answer }, or be an async generator of calls, got ${preview(given)}`,
        );
      }
      return { calls: given.calls.map(toCall), answer: await toAnswer(scenario, given.answer), done: true };
    }
    const running: SolutionRun = { scenario, generator: source, calls: 0 };
    this.#running = running;
    return this.#step(running, undefined);
  }

  /** Ends the running solution. Never rejects. */
  async close(budgetMs: number): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    const step = {
      name: `The solution of the scenario ${running.scenario.name}`,
      run: () => running.generator.return(undefined),
    };
    await runCleanup([step], budgetMs, this.#report);
  }

  async #step(running: SolutionRun, result: SolutionToolResult | undefined): Promise<Solution> {
    let isOver = true;
    try {
      // The first `next` of a generator only starts it, and its argument is ignored.
      const { done, value } = await running.generator.next(result as SolutionToolResult);
      if (done === true) return { calls: [], answer: await toAnswer(running.scenario, value), done: true };
      running.calls += 1;
      isOver = false;
      return { calls: [toCall(value)], answer: null, done: false };
    } finally {
      if (isOver && this.#running === running) this.#running = undefined;
    }
  }

  #runningOne(name: string, results: number): SolutionRun {
    const running = this.#running;
    if (running?.scenario.name !== name)
      throw new ToolError(`No solution of the scenario ${name} is under way in this session`);
    if (running.calls === results) return running;
    throw new ToolError(
      `The solution of the scenario ${name} has given ${running.calls} calls, got ${results} results`,
    );
  }
}

function isGenerator(source: SolutionSource): source is SolutionGenerator {
  return typeof source === 'object' && source !== null && Symbol.asyncIterator in source;
}

/** @throws TypeError if it is not a call. */
function toCall(call: SolutionCall): Solution['calls'][number] {
  if (!isJsonObject(call) || typeof call.name !== 'string' || !isJsonObject(call.arguments ?? {})) {
    throw new TypeError(`A call of a solution is { name, arguments }, got ${preview(call)}`);
  }
  const { name, arguments: args } = call;
  const given = Object.entries(args ?? {}).filter((entry): entry is [string, Json] => entry[1] !== undefined);
  return { name, arguments: Object.fromEntries(given) };
}

/** @throws Error if the answer does not fit the scenario's schema, because the evaluation would never see it. */
async function toAnswer({ answer: schema }: ScenarioDefinition, given: unknown): Promise<Solution['answer']> {
  const answer = given ?? null;
  const read = schema && (await readAnswer(schema, answer));
  if (read === undefined || read.ok) return answer as Solution['answer'];
  throw new Error(`Its answer does not fit the scenario's \`answer\`: ${describeIssues(asFields(read.issues))}`);
}
