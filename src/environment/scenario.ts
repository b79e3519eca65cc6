import type { JsonObject } from '../contract/json.ts';
import { type Evaluation, type VolatilePart, volatilePartSchema } from '../contract/scenario.ts';
import { PROVIDER_TOOL_KINDS, type ProviderToolKind } from '../dialects/provider-tools.ts';
import { asFields, preview, type SchemaIssue } from '../schema/json-schema.ts';
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
import { compileSchema, describeIssues } from './schema.ts';
import type { AnySchema, AnyValue, ArgsInput, ArgsOf, NoArgs, OutputOf, WrittenInput } from './schema-types.ts';
import { NO_ARGS } from './tool.ts';
import { defineUser, type SimulatedUser, type UserFunction } from './user.ts';

/** Options of a scenario beside its name and its generator. Without `args` it takes no arguments. */
export interface ScenarioConfig<Args extends AnySchema = NoArgs, Answer extends AnySchema | undefined = undefined> {
  readonly description?: string;
  readonly args?: Args;
  /** Patterns of the tools that the agent may use here (`*` matches any run of characters); all by default. */
  readonly tools?: readonly string[];
  /**
   * Tools that a model provider runs and an agent of others may use beside its model, such as `web_search`: they reach
   * past the environment. None by default.
   */
  readonly providerTools?: readonly ProviderToolKind[];
  /** The system prompt. */
  readonly system?: string;
  /** The schema of a structured answer. Without it the answer is text. */
  readonly answer?: Answer;
  /** Tool calls and an answer that solve the scenario; a generator where a call depends on what another one gave. */
  readonly solution?: (
    args: ArgsOf<Args>,
  ) => SolutionSource<Answer extends AnySchema ? WrittenInput<Answer> : AnyValue>;
  /**
   * Tasks of this scenario, for evaluations: the taskset `<environment>/<scenario>`. A list, or a function that gives it,
   * which runs when they are asked for. Agents cannot see them. TypeScript widens texts in what a function returns: write
   * `as const` behind those that have to be one of a few.
   */
  readonly tasks?: DeclaredTaskSource<ScenarioTask<NoInfer<Args>>>;
  /**
   * Parts that differ from one session to the next although nothing is wrong, such as the time of day: patterns of tool
   * names, `prompt`, `tools`, or `{ tool, path }` for a field of a tool's structured content (`orders.*.placed_at`). A
   * replay and `proctor check` do not compare them. Better: draw by `ctx.seed`.
   */
  readonly volatile?: readonly VolatilePart[];
  /**
   * The user that the agent talks with: a model with instructions, or a function. A text of the agent without a tool call
   * goes to the user, whose reply begins the next turn. Without a user that text is the answer.
   */
  readonly user?: SimulatedUser<ArgsOf<Args>> | UserFunction;
  /** True: its evaluation cannot do without a judge, so that a run without a model for judges is refused at once. */
  readonly judge?: boolean;
  /** Hints for chat interfaces. */
  readonly chat?: Readonly<Record<string, unknown>>;
}

/** A task that a scenario declares. */
export type ScenarioTask<Args extends AnySchema = NoArgs> = {
  /** 1 to 200 characters, unique among the tasks of its scenario. */
  readonly id: string;
  readonly split?: 'train' | 'validation' | 'test' | null;
  readonly tags?: readonly string[];
  /** Tasks of one cluster are not independent, so that errors are computed over clusters. Default: the id. */
  readonly cluster?: string;
  /** Lines of the simulated user, one a turn, for `proctor/user-script`: the task can be played without a model for its user. */
  readonly user_script?: readonly string[];
} & (NoArgs extends ArgsInput<Args> ? { readonly args?: ArgsInput<Args> } : { readonly args: ArgsInput<Args> });

/** The agent's final answer: text, or what the `answer` schema makes of it. */
export type AnswerOf<Answer extends AnySchema | undefined> = Answer extends AnySchema ? OutputOf<Answer> : string;

/**
 * The generator of a scenario: it yields the prompt, receives the answer, and RETURNS the evaluation, so that a
 * forgotten reward does not compile. At run time a second `yield` of the evaluation does as well; it has no type of its
 * own, because every type that admits it (`AsyncGenerator<Prompt | Evaluation, void, Answer>`) admits a generator
 * without any evaluation too.
 */
export type ScenarioGenerator<Answer = string> = AsyncGenerator<Prompt, EvaluationInput, Answer>;

export type ScenarioFunction<Args extends AnySchema, Answer extends AnySchema | undefined> = (
  args: ArgsOf<Args>,
  context: ToolContext,
) => ScenarioGenerator<AnswerOf<Answer>>;

/** A scenario that was added to an environment. */
export interface Scenario<Args extends AnySchema> {
  readonly name: string;
  /** The fields of a request (a chat's first turn, `scenario_start`) that start it with these arguments. */
  with(...args: ScenarioArgs<Args>): { readonly scenario: string; readonly scenario_args: ArgsInput<Args> };
}

type ScenarioArgs<Args extends AnySchema> =
  NoArgs extends ArgsInput<Args> ? [args?: ArgsInput<Args>] : [args: ArgsInput<Args>];

export function scenarioHandle<Args extends AnySchema>(name: string): Scenario<Args> {
  return {
    name,
    // Without arguments only where the schema takes an empty object, which is what `ScenarioArgs` says.
    with: (...[args = {} as ArgsInput<Args>]) => ({ scenario: name, scenario_args: args }),
  };
}

/**
 * Compiles a scenario.
 *
 * @param start makes the run of arguments that the schema has read.
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
    // The schema has read the arguments: that they are `ArgsOf<Args>` is what it was compiled for.
    start: (args, context) => withAnswer(answer, start(args as ArgsOf<Args>, context)),
    solution: solution && ((args) => solution(args as ArgsOf<Args>)),
    volatile,
    tasks,
    needsJudge: config.judge,
    user: config.user && defineUser(label, config.user),
  };
}

/**
 * Reads the answer before the author sees it, so that it is what its type says. One that does not fit the schema is the
 * agent's fault and not the environment's: the author's half is not reached, and the reward is 0.
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

/** An agent answers in text, so text that the schema does not take as it is may be JSON that it takes. */
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

/** Without a schema an author is promised text: none is "", anything else than text its JSON. */
function toAnswerText(answer: unknown): string {
  if (typeof answer === 'string') return answer;
  return answer === undefined || answer === null ? '' : JSON.stringify(answer as JsonObject);
}
