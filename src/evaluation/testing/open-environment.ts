import type { Json, JsonObject } from '../../contract/json.ts';
import type { Evaluation, ScenarioEntry, SetupResult, Solution } from '../../contract/scenario.ts';
import type { LogRecord, Trace } from '../../contract/service/trace.ts';
import type { EnvironmentSource } from '../../environment/authoring/environment-source.ts';
import { connectEnvironment } from '../../environment/client/connect.ts';
import type { CallOptions, ConnectOptions } from '../../environment/client/environment-client.ts';
import type { McpEnvironmentClient } from '../../environment/client/mcp-environment-client.ts';
import { inMemory } from '../../environment/server/in-memory.ts';
import { declaredTasksOf } from './declared-tasks.ts';
import type { TestRunOptions } from './play-run.ts';
import { createRoleClient, type RoleClient } from './role-client.ts';
import { type DeclaredTask, readTask, type TaskArguments } from './task.ts';

export interface OpenEnvironmentOptions {
  /** `_meta` of `initialize`, such as `{ display_width: 1280 }`. */
  readonly meta?: JsonObject;
  /** Milliseconds until the initialize hook has to be done. Default 60,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /**
   * Takes what the environment logs, and why a tool failed that told its agent no more than that it did. By default
   * warnings and errors are printed to standard error.
   */
  readonly onLog?: (record: Omit<LogRecord, 'at'>) => void;
}

/**
 * An environment in this process, for tests, in one MCP session: what an agent and a harness could do to it over any
 * transport, and no more. Whoever opened it closes it, best with `await using`.
 */
export interface OpenEnvironment extends AsyncDisposable {
  /** Name from the handshake. */
  readonly name: string;
  readonly version: string;
  readonly instructions: string;
  /** Acts as the model does: harness tools are neither listed nor callable. */
  readonly agent: RoleClient;
  /** Acts as the framework does: everything is listed and callable. */
  readonly harness: RoleClient;

  scenarios(options?: CallOptions): Promise<readonly ScenarioEntry[]>;
  /**
   * Runs the first half of a scenario in this session, whose tools then act on it. The task is what a handle's
   * `with(...)` gives, or the scenario's name and its arguments.
   *
   * @throws BoundaryError boundary `setup`: bad arguments by name, another scenario that is active, what the author threw.
   */
  setup(...task: TaskArguments<CallOptions>): Promise<StartedScenario>;
  /**
   * The scenario's solution; of one that is a generator, its first call.
   *
   * @throws BoundaryError if the scenario has no solution.
   */
  solution(...task: TaskArguments<CallOptions>): Promise<Solution>;
  /**
   * Plays a whole run in an environment of its own, as `proctor run` does: connect, setup, the model's steps, answer,
   * evaluation. Unless the source is an instance, nothing of it is seen in this session.
   *
   * @returns its trace. A run that failed is one: `status`, `error` and `logs` say why.
   * @throws TypeError for options that are out of range; ApiError `model_not_found` for an unknown reference model; the
   *   reason of the signal.
   */
  run(...task: TaskArguments<TestRunOptions>): Promise<Trace>;

  /**
   * The tasks that a scenario declares, or those of all scenarios, checked as an evaluation checks them. `run` and `setup`
   * take each of them.
   *
   * @throws ApiError with what is wrong with them; BoundaryError with what the author's function threw.
   */
  tasks(scenario?: string, options?: CallOptions): Promise<readonly DeclaredTask[]>;

  /** Ends the session: `finally` of an active scenario and close hooks run, shutdown hooks do not. Never rejects. */
  close(): Promise<void>;
}

/** A scenario that was set up and waits for its answer. */
export interface StartedScenario extends SetupResult {
  /**
   * Submits the answer (none is null, and reads as "" where the scenario takes text) and runs the second half, once.
   *
   * @throws BoundaryError boundary `evaluate`.
   */
  evaluate(answer?: Json, options?: CallOptions): Promise<Evaluation>;
}

/**
 * Opens an environment for a test: over real MCP, in memory, without a process, a port or a model.
 *
 * @param source what a module exports by default: a class, a factory, or an instance, whose state all sessions share.
 * @throws BoundaryError boundary `environment` for what is none, and for what its constructor or initialize hook throws.
 *
 * @example
 * ```ts
 * await using env = await openEnvironment(Counter);
 * const task = await env.setup('count_to', { target: 3 });
 * expect(task.prompt[0]?.content).toContain('exactly 3');
 * expect((await env.agent.call('increment', { by: 3 })).text).toBe('3');
 * expect(await task.evaluate('The counter shows 3.')).toMatchObject({ reward: 1 });
 * ```
 */
export async function openEnvironment(
  source: EnvironmentSource,
  options: OpenEnvironmentOptions = {},
): Promise<OpenEnvironment> {
  const { onLog = printFaults, ...others } = options;
  const connect = (more: ConnectOptions) => connectEnvironment(inMemory(source), { ...others, ...more });
  const client = await connect({ onLog });
  return {
    name: client.name,
    version: client.version,
    instructions: client.instructions,
    agent: createRoleClient(client, 'agent'),
    harness: createRoleClient(client, 'harness'),
    scenarios: (callOptions) => client.scenarios(callOptions),
    async setup(...task) {
      const { scenario, args, options: callOptions } = readTask(task);
      return toStarted(client, await client.setup(scenario, args, callOptions));
    },
    async solution(...task) {
      const { scenario, args, options: callOptions } = readTask(task);
      return await client.solution(scenario, args, [], callOptions);
    },
    async run(...task) {
      const { scenario, args, userScript, options: runOptions } = readTask(task);
      const { playRun } = await import('./play-run.ts');
      return await playRun({ name: client.name, scenario, args, userScript, connect, onLog }, runOptions);
    },
    tasks: (scenario, callOptions) => declaredTasksOf(client, scenario, callOptions),
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function toStarted(client: McpEnvironmentClient, setup: SetupResult): StartedScenario {
  return {
    ...setup,
    evaluate: (answer = null, options) => client.evaluate(setup.scenario, answer, options),
  };
}

/** Prints the cause of a failed tool, because the agent's result says only that it failed. */
function printFaults({ level, logger, message }: Omit<LogRecord, 'at'>): void {
  if (level === 'warning' || level === 'error') console.error(`[${logger}] ${message}`);
}
