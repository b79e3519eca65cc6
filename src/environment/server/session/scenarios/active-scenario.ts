import { META, SHUTDOWN_GRACE_MS } from '../../../../contract/names.ts';
import type { Evaluation, SandboxFacts, SetupResult } from '../../../../contract/scenario.ts';
import { untilAborted } from '../../../../support/runtime/deadline.ts';
import { preview } from '../../../../support/schema/json-schema.ts';
import { describeUnmatched, matchesToolPatterns } from '../../../../support/text/tool-patterns.ts';
import type { ScenarioDefinition, ScenarioRun, ToolContext, UserMessage } from '../../../authoring/definition.ts';
import { ToolError } from '../../../authoring/tool-result.ts';
import { type Report, runCleanup } from '../../cleanup.ts';
import { hasConversation } from './judge-question.ts';
import { ScenarioContext, withoutWords } from './scenario-context.ts';
import type { ScenarioSandboxes } from './scenario-sandboxes.ts';

/** How a scenario was started: by a harness with the hub `setup`, or by any client with the scenario's prompt. */
export type Starter = 'harness' | 'prompt';

interface ScenarioInstance {
  readonly name: string;
  readonly tools: ScenarioDefinition['tools'];
  readonly user: ScenarioDefinition['user'];
  readonly isGradedLive: boolean;
  readonly starter: Starter;
  readonly run: ScenarioRun;
  readonly context: ScenarioContext;
}

type State =
  | { readonly kind: 'idle'; readonly evaluated: string | undefined }
  | { readonly kind: 'starting'; readonly name: string; readonly starter: Starter }
  | ({ readonly kind: 'active' | 'evaluating' } & ScenarioInstance);

/**
 * The active scenario of a session; there is at most one. A refused action throws a `ToolError` that names the active
 * scenario.
 */
export class ActiveScenario {
  /** Called when the active scenario or its phase changes. */
  onchange: (() => void) | undefined;

  readonly #report: Report;
  readonly #agentTools: () => readonly string[];
  #state: State = { kind: 'idle', evaluated: undefined };
  readonly #sandboxes: ScenarioSandboxes | undefined;
  #settling: Promise<void> = Promise.resolve();

  /**
   * @param agentTools returns the names of all tools that an agent may get now.
   * @param sandboxes are those of the session. Undefined if its environment has none.
   */
  constructor(report: Report, agentTools: () => readonly string[], sandboxes?: ScenarioSandboxes) {
    this.#report = report;
    this.#agentTools = agentTools;
    this.#sandboxes = sandboxes;
  }

  get starter(): Starter | undefined {
    return this.#state.kind === 'idle' ? undefined : this.#state.starter;
  }

  /** The tools that an agent may use in the active scenario. Undefined allows all. */
  get toolPatterns(): ScenarioDefinition['tools'] {
    const state = this.#state;
    return state.kind === 'idle' || state.kind === 'starting' ? undefined : state.tools;
  }

  allowsTool(name: string): boolean {
    return matchesToolPatterns(name, this.toolPatterns);
  }

  /**
   * Makes the sandboxes for a setup that follows, so that its time begins when they are there.
   *
   * @throws ToolError while a scenario is active; EngineError.
   */
  prepare(
    scenario: ScenarioDefinition,
    args: unknown,
    request: ToolContext,
  ): Promise<{ readonly sandboxes: readonly SandboxFacts[] }> {
    const preparing = async () => {
      this.#admit('harness');
      return { sandboxes: (await this.#sandboxes?.prepare(scenario, args, request)) ?? [] };
    };
    return this.#settle(preparing());
  }

  /**
   * @throws ToolError while another one is active; any error of the author's first half, after the scenario was closed.
   */
  setup(scenario: ScenarioDefinition, args: unknown, request: ToolContext, starter: Starter): Promise<SetupResult> {
    return this.#settle(this.#setup(scenario, args, request, starter));
  }

  /**
   * @throws ToolError if `name` is not the active scenario; any error of the author's second half. The active scenario
   *   is closed in any case.
   */
  evaluate(name: string, answer: unknown, request: ToolContext): Promise<Evaluation> {
    return this.#settle(this.#evaluate(name, answer, request));
  }

  /**
   * The next message of the active scenario's user. Null ends the conversation.
   *
   * @throws ToolError if its user is not a function; any error of that function.
   */
  async nextUserMessage(conversation: readonly UserMessage[], request: ToolContext): Promise<string | null> {
    const state = this.#state;
    if (state.kind !== 'active' || state.user?.next === undefined) {
      throw new ToolError('No scenario whose user is a function is active in this session: set one up first');
    }
    const { next } = state.user;
    const message = await state.context.during(request, async () => next(conversation, state.context));
    if (message === null || typeof message === 'string') return message;
    throw new TypeError(`The user of the scenario ${state.name} has to return text or null, got ${preview(message)}`);
  }

  /**
   * Closes the active scenario. If a half is running, its request was aborted, and this waits for its end. Never
   * rejects.
   */
  async close(budgetMs: number): Promise<void> {
    const closing = async () => {
      await this.#settling;
      const state = this.#state;
      this.#become({ kind: 'idle', evaluated: undefined });
      if (state.kind === 'active') await this.#end(state, budgetMs);
    };
    await runCleanup([{ name: 'The scenario of the session', run: closing }], budgetMs, this.#report);
  }

  async #setup(
    scenario: ScenarioDefinition,
    args: unknown,
    request: ToolContext,
    starter: Starter,
  ): Promise<SetupResult> {
    const { name, tools, user, isGradedLive = false } = scenario;
    const replaced = this.#admit(starter);
    this.#become({ kind: 'starting', name, starter });
    const context = new ScenarioContext(request);
    let run: ScenarioRun | undefined;
    try {
      if (replaced !== undefined) await this.#end(replaced, SHUTDOWN_GRACE_MS.environment);
      await this.#sandboxes?.ensure(scenario, args, request);
      const running = scenario.start(args, context);
      run = running;
      // Any client may get a prompt. The messages of the setup may contain an answer key, so only a harness gets them.
      const heard = starter === 'prompt' ? withoutWords(request, this.#report) : request;
      const prompt = await context.during(heard, () => untilAborted(running.prompt(), request.signal));
      // A harness's setup has declared all its tools by now. Without a harness they may come later, and nothing is
      // graded.
      const fault = starter === 'harness' ? describeUnmatched(name, tools, this.#agentTools()) : undefined;
      if (fault !== undefined) throw new ToolError(fault);
      // A client that has disconnected would not know that the scenario is active, and could not set up another one.
      request.signal.throwIfAborted();
      this.#become({ kind: 'active', name, tools, user, isGradedLive, starter, run, context });
      return {
        scenario: name,
        prompt: [...prompt],
        system: scenario.system ?? null,
        tools: scenario.tools === undefined ? null : [...scenario.tools],
        answer_schema: scenario.answer?.jsonSchema ?? null,
        ...(scenario.providerTools === undefined ? {} : { provider_tools: [...scenario.providerTools] }),
        ...(scenario.volatile === undefined ? {} : { volatile: [...scenario.volatile] }),
      };
    } catch (error) {
      if (run !== undefined)
        await this.#end({ name, tools, user, isGradedLive, starter, run, context }, SHUTDOWN_GRACE_MS.environment);
      this.#become({ kind: 'idle', evaluated: undefined });
      throw error;
    }
  }

  async #evaluate(name: string, answer: unknown, request: ToolContext): Promise<Evaluation> {
    const started = this.#activeOne(name);
    this.#become({ ...started, kind: 'evaluating' });
    try {
      if (started.user !== undefined && !hasConversation(request.meta)) throw new ToolError(userNotPlayed(name));
      await this.#sandboxes?.beforeEvaluation(started.isGradedLive);
      return await started.context.during(request, () => untilAborted(started.run.evaluate(answer), request.signal));
    } finally {
      await this.#end(started, SHUTDOWN_GRACE_MS.environment);
      this.#become({ kind: 'idle', evaluated: name });
    }
  }

  #become(state: State): void {
    this.#state = state;
    this.onchange?.();
  }

  /** Remembers a half that is running, so that closing can wait for its end. */
  #settle<T>(half: Promise<T>): Promise<T> {
    this.#settling = Promise.allSettled([this.#settling, half]).then(() => {});
    return half;
  }

  /** Returns the scenario that the new one replaces, if any. @throws ToolError if a scenario may not be started now. */
  #admit(starter: Starter): ScenarioInstance | undefined {
    const state = this.#state;
    if (state.kind === 'idle') return undefined;
    if (state.kind === 'active' && state.starter === 'prompt' && starter === 'prompt') return state;
    const phase = { starting: 'being set up', active: 'active', evaluating: 'being evaluated' }[state.kind];
    throw new ToolError(`The scenario ${state.name} is ${phase} in this session: evaluate it, or open another session`);
  }

  #activeOne(name: string): ScenarioInstance {
    const state = this.#state;
    switch (state.kind) {
      case 'idle':
        throw new ToolError(
          state.evaluated === name
            ? `The scenario ${name} has been evaluated already; no scenario is active in this session`
            : `No scenario is active in this session: call the function ${name} of the hub setup first`,
        );
      case 'starting':
        throw new ToolError(`The scenario ${state.name} is still being set up in this session`);
      case 'evaluating':
        throw new ToolError(`The scenario ${state.name} is being evaluated already`);
      case 'active':
        if (state.name === name) return state;
        throw new ToolError(`The scenario that is active in this session is ${state.name}, not ${name}`);
    }
  }

  async #end(started: ScenarioInstance, budgetMs: number): Promise<void> {
    started.context.abort();
    const step = { name: `The generator of the scenario ${started.name}`, run: () => started.run.close() };
    await runCleanup([step], budgetMs, this.#report);
  }
}

/**
 * The error for a harness without a user. Without the user's part the task would be a different one, and its reward
 * would be meaningless.
 */
function userNotPlayed(name: string): string {
  return `The scenario ${name} talks with a user, and this harness plays none: evaluate it with the texts of both as _meta["${META.conversation}"], a list of {"role", "content"}`;
}
