import type { JsonObject } from '../../contract/json.ts';
import { PROVIDER_TOOL_KINDS, type ProviderToolKind } from '../../contract/provider-tools.ts';
import { type Evaluation, type VolatilePart, volatilePartSchema } from '../../contract/scenario.ts';
import { asFields, preview, type SchemaIssue } from '../../support/schema/json-schema.ts';
import type {
  CompiledSchema,
  DeclaredTaskSource,
  ParseResult,
  ScenarioDefinition,
  ScenarioRun,
  SolutionSource,
  ToolContext,
} from './definition.ts';
import type { EvaluationInput } from './evaluation.ts';
import { checkName } from './names.ts';
import { checkPresentation } from './presentation.ts';
import type { Prompt } from './prompt-messages.ts';
import { compileSchema, describeIssues } from './schema/schema.ts';
import type { AnySchema, AnyValue, ArgsInput, ArgsOf, NoArgs, OutputOf, WrittenInput } from './schema/schema-types.ts';
import { NO_ARGS } from './tool.ts';
import { defineUser, type SimulatedUser, type UserFunction } from './user.ts';

/** Options of a scenario. Without `args` it takes no arguments. */
export interface ScenarioConfig<Args extends AnySchema = NoArgs, Answer extends AnySchema | undefined = undefined> {
  readonly description?: string;
  readonly args?: Args;
  /** Patterns (`*` matches any run of characters) of the tools that the agent may use here. Default: all. */
  readonly tools?: readonly string[];
  /**
   * Tools that a model provider runs, such as `web_search`, and that an outside agent may use. They act outside the
   * environment. Default: none.
   */
  readonly providerTools?: readonly ProviderToolKind[];
  /** The system prompt. */
  readonly system?: string;
  /** The schema of a structured answer. Without it, the answer is text. */
  readonly answer?: Answer;
  /** Tool calls and an answer that solve the scenario. Use a generator if a call depends on an earlier result. */
  readonly solution?: (
    args: ArgsOf<Args>,
  ) => SolutionSource<Answer extends AnySchema ? WrittenInput<Answer> : AnyValue>;
  /**
   * Tasks of this scenario for evaluations: a list, or a function that runs when the tasks are needed. They become the
   * taskset `<environment>/<scenario>`. Agents cannot see them. If a field accepts only certain texts, write `as const`
   * behind them in a function, because TypeScript infers any string otherwise.
   */
  readonly tasks?: DeclaredTaskSource<ScenarioTask<NoInfer<Args>>>;
  /**
   * Parts that may differ from one session to the next without being an error, such as the time of day: patterns of
   * tool names, `prompt`, `tools`, or `{ tool, path }` for a field of a tool's structured content
   * (`orders.*.placed_at`). A replay and `proctor check` do not compare them. Deriving such values from `ctx.seed` is
   * better.
   */
  readonly volatile?: readonly VolatilePart[];
  /**
   * The user that the agent talks with: a model with instructions, or a function. If the agent sends text without a
   * tool call, the text goes to the user, and the user's reply begins the next turn. Without a user, that text is the
   * answer.
   */
  readonly user?: SimulatedUser<ArgsOf<Args>> | UserFunction;
  /**
   * `frozen` (default): all programs of the sandboxes are ended before the evaluation, and none can be started there.
   * `live`: they go on, for an evaluation that needs a service of the agent. Its program may then act against it.
   */
  readonly grade?: 'frozen' | 'live';
  /** True if the evaluation needs a judge. A run without a model for judges is then refused at once. */
  readonly judge?: boolean;
  /** Hints for chat interfaces. */
  readonly chat?: Readonly<Record<string, unknown>>;
}

/** A task that a scenario declares. */
export type ScenarioTask<Args extends AnySchema = NoArgs> = {
  /** Id of 1 to 200 characters, unique among the tasks of its scenario. */
  readonly id: string;
  readonly split?: 'train' | 'validation' | 'test' | null;
  readonly tags?: readonly string[];
  /** Tasks of one cluster depend on each other, so standard errors are computed over clusters. Default: the id. */
  readonly cluster?: string;
  /**
   * Lines of the simulated user, one for each turn. `proctor/user-script` says them, so that the task needs no model
   * for its user.
   */
  readonly user_script?: readonly string[];
} & (NoArgs extends ArgsInput<Args> ? { readonly args?: ArgsInput<Args> } : { readonly args: ArgsInput<Args> });

/** The agent's final answer: text, or the value that the `answer` schema returns. */
export type AnswerOf<Answer extends AnySchema | undefined> = Answer extends AnySchema ? OutputOf<Answer> : string;

/**
 * The generator of a scenario: it yields the prompt, receives the answer, and RETURNS the evaluation, so that a
 * forgotten reward does not compile. At run time a second `yield` may give the evaluation too. No type allows this,
 * because such a type (`AsyncGenerator<Prompt | Evaluation, void, Answer>`) would also accept a generator without an
 * evaluation.
 */
export type ScenarioGenerator<Answer = string> = AsyncGenerator<Prompt, EvaluationInput, Answer>;

export type ScenarioFunction<Args extends AnySchema, Answer extends AnySchema | undefined> = (
  args: ArgsOf<Args>,
  context: ToolContext,
) => ScenarioGenerator<AnswerOf<Answer>>;

/** A scenario that was added to an environment. */
export interface Scenario<Args extends AnySchema> {
  readonly name: string;
  /** Returns the request fields (of a chat's first turn, or of `scenario_start`) that start it with these arguments. */
  with(...args: ScenarioArgs<Args>): { readonly scenario: string; readonly scenario_args: ArgsInput<Args> };
}

type ScenarioArgs<Args extends AnySchema> =
  NoArgs extends ArgsInput<Args> ? [args?: ArgsInput<Args>] : [args: ArgsInput<Args>];

export function scenarioHandle<Args extends AnySchema>(name: string): Scenario<Args> {
  return {
    name,
    // `ScenarioArgs` lets the arguments be left out only if the schema accepts an empty object.
    with: (...[args = {} as ArgsInput<Args>]) => ({ scenario: name, scenario_args: args }),
  };
}

/**
 * Compiles a scenario.
 *
 * @param start makes the run. It gets arguments that the schema has read.
 * @throws TypeError for a bad name, schema, pattern or solution.
 */
export function defineScenario<Args extends AnySchema, Answer extends AnySchema | undefined>(
  name: string,
  config: ScenarioConfig<Args, Answer>,
  start: (args: ArgsOf<Args>, context: ToolContext) => ScenarioRun,
): ScenarioDefinition {
  checkName('Scenario', name);
  const label = `Scenario "${name}"`;
  checkPresentation(label, config);
  const { tools, solution, tasks, providerTools, volatile } = config;
  if (tools !== undefined && !(Array.isArray(tools) && tools.every((pattern) => typeof pattern === 'string'))) {
    throw new TypeError(`${label}: tools has to be a list of patterns of tool names, got ${JSON.stringify(tools)}`);
  }
  const kinds: readonly unknown[] = PROVIDER_TOOL_KINDS;
  if (
    providerTools !== undefined &&
    !(Array.isArray(providerTools) && providerTools.every((kind) => kinds.includes(kind)))
  ) {
    throw new TypeError(
      `${label}: providerTools has to be a list of ${PROVIDER_TOOL_KINDS.join(', ')}, got ${JSON.stringify(providerTools)}`,
    );
  }
  if (solution !== undefined && typeof solution !== 'function') {
    throw new TypeError(`${label}: solution has to be a function of the arguments, got ${typeof solution}`);
  }
  if (tasks !== undefined && !Array.isArray(tasks) && typeof tasks !== 'function') {
    throw new TypeError(`${label}: tasks has to be a list of tasks, or a function that gives one, got ${typeof tasks}`);
  }
  const badPart = (Array.isArray(volatile) ? volatile : []).find((part) => !volatilePartSchema.safeParse(part).success);
  if ((volatile !== undefined && !Array.isArray(volatile)) || badPart !== undefined) {
    throw new TypeError(
      `${label}: volatile has to be a list of patterns of tool names, "prompt", "tools" or { tool, path }, got ${preview(badPart ?? volatile)}`,
    );
  }
  if (config.grade !== undefined && config.grade !== 'frozen' && config.grade !== 'live') {
    throw new TypeError(`${label}: grade has to be "frozen" or "live", got ${preview(config.grade)}`);
  }
  const answer = config.answer && compileSchema(config.answer, `${label}, answer`, { root: 'any' });
  return {
    name,
    description: config.description,
    args: compileSchema(config.args ?? NO_ARGS, `${label}, args`),
    tools,
    providerTools,
    system: config.system,
    answer,
    chat: config.chat,
    // The cast is safe because the schema has read the arguments.
    start: (args, context) => withAnswer(answer, start(args as ArgsOf<Args>, context)),
    solution: solution && ((args) => solution(args as ArgsOf<Args>)),
    volatile,
    tasks,
    needsJudge: config.judge,
    isGradedLive: config.grade === 'live',
    user: config.user && defineUser(label, config.user),
  };
}

/**
 * Reads the answer with the schema, so the author gets the type that the schema promises. An answer that does not fit
 * is the agent's fault: the author's second half does not run, and the reward is 0.
 */
function withAnswer(schema: CompiledSchema | undefined, run: ScenarioRun): ScenarioRun {
  return {
    prompt: () => run.prompt(),
    close: () => run.close(),
    async evaluate(answer) {
      if (schema === undefined) return run.evaluate(toAnswerText(answer));
      const read = await readAnswer(schema, answer);
      if (read.ok) return run.evaluate(read.value);
      await run.close();
      return toMisfit(read.issues);
    },
  };
}

/** Reads an answer. Agents answer in text, so text that does not fit the schema is tried again as JSON. */
export async function readAnswer(schema: CompiledSchema, answer: unknown): Promise<ParseResult> {
  const parsed = await schema.parse(answer);
  return parsed.ok || typeof answer !== 'string' ? parsed : await schema.parse(fromJson(answer));
}

function toMisfit(issues: readonly SchemaIssue[]): Evaluation {
  const content = `The answer does not fit the scenario's schema: ${describeIssues(asFields(issues))}`;
  return { reward: 0, done: true, content, info: {}, subscores: [], is_error: true };
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Without an answer schema the author gets a string: `""` for no answer, JSON text for any other value. */
function toAnswerText(answer: unknown): string {
  if (typeof answer === 'string') return answer;
  return answer === undefined || answer === null ? '' : JSON.stringify(answer as JsonObject);
}
