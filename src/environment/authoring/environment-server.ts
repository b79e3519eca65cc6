import { SCENARIOS_URI, tasksUri } from '../../contract/names.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { Changes } from './changes.ts';
import {
  type ConnectionDefinition,
  type ConnectionOptions,
  type ConnectionSource,
  defineConnection,
} from './connection.ts';
import type {
  DefinitionChange,
  EnvironmentDefinition,
  Hook,
  HubDefinition,
  InitializeHook,
  PromptDefinition,
  ResourceDefinition,
  ScenarioDefinition,
  ToolDefinition,
} from './definition.ts';
import { checkOptions, type EnvironmentServerOptions } from './environment-options.ts';
import { ENVIRONMENT } from './environment-source.ts';
import { HUB, type Hub } from './hub.ts';
import {
  checkDeclarations,
  checkFunctionNames,
  checkPlaceholders,
  type HubHalves,
  halvesOf,
  runHubHalves,
} from './hub-scenario.ts';
import { checkHook, duplicate, functionsUri, isHarnessHub } from './names.ts';
import { definePrompt, type PromptConfig, type PromptHandler } from './prompt.ts';
import { defineResource, type ResourceConfig, type ResourceHandler } from './resource.ts';
import {
  addToolSets,
  declareSandbox,
  type SandboxDeclaration,
  type SandboxSource,
  type ToolsFor,
} from './sandboxes.ts';
import {
  defineScenario,
  type Scenario,
  type ScenarioConfig,
  type ScenarioFunction,
  scenarioHandle,
} from './scenario.ts';
import { runGenerator } from './scenario-run.ts';
import type { WrittenHalves } from './schema/placeholder-types.ts';
import type { AnySchema, NoArgs } from './schema/schema-types.ts';
import { defineTool, type ToolConfig, type ToolHandler, type ToolObject } from './tool.ts';

/**
 * An environment: tools that an agent uses, and scenarios that give the agent a task and a reward. A module exports a
 * class that extends this one, or a factory that returns an instance; then each MCP session gets its own instance, so
 * ordinary fields hold its state. A module may also export one instance, which all sessions share. The methods register
 * declarations and refuse names that are taken. `serve` and `serveMain` serve the environment.
 *
 * @example
 * ```ts
 * const env = new EnvironmentServer({ name: 'door' });
 * env.tool('push', {}, () => {
 *   isOpen = !isOpen;
 * });
 * const shut = env.scenario('shut', { args: { times: z.int().default(1) } }, async function* ({ times }) {
 *   isOpen = true;
 *   yield `Push the door ${times} times.`;
 *   return !isOpen;
 * });
 * ```
 */
export class EnvironmentServer {
  readonly #tools = new Map<string, ToolDefinition>();
  readonly #hubs = new Map<string, HubDefinition>();
  readonly #scenarios = new Map<string, ScenarioDefinition>();
  readonly #resources = new Map<string, ResourceDefinition>();
  readonly #prompts = new Map<string, PromptDefinition>();
  readonly #connections = new Map<string, ConnectionDefinition>();
  readonly #sandboxes = new Map<string, SandboxDeclaration>();
  readonly #roles = new Set<string>();
  readonly #initializeHooks: InitializeHook[] = [];
  readonly #shutdownHooks: Hook[] = [];
  readonly #closeHooks: Hook[] = [];
  readonly #hubScenarios = new Map<string, HubHalves>();
  readonly #changes = new Changes<DefinitionChange>();
  readonly #definition: EnvironmentDefinition;

  /** @throws TypeError if the name is missing, and for an option of the wrong type. */
  constructor(options: EnvironmentServerOptions) {
    this.#definition = {
      ...checkOptions(options),
      tools: this.#tools,
      hubs: this.#hubs,
      scenarios: this.#scenarios,
      resources: this.#resources,
      prompts: this.#prompts,
      connections: this.#connections,
      sandboxes: this.#sandboxes,
      initializeHooks: this.#initializeHooks,
      shutdownHooks: this.#shutdownHooks,
      closeHooks: this.#closeHooks,
      changes: this.#changes,
    };
  }

  /**
   * The definition of the environment. @throws Error if a scenario and a hub conflict, or if a scenario needs a hub
   * function that does not exist. This is checked here because hubs and scenarios may be declared in any order.
   */
  get [ENVIRONMENT](): EnvironmentDefinition {
    checkDeclarations(this.#definition, this.#hubScenarios, this.#label);
    return this.#definition;
  }

  /** Adds a tool. @throws Error for a name that is taken; TypeError for a bad name or schema. */
  tool<
    const Args extends AnySchema = NoArgs,
    const Returns extends AnySchema | undefined = undefined,
    Returned = unknown,
  >(name: string, config: ToolConfig<Args, Returns>, handler: ToolHandler<Args, Returns, Returned>): this {
    const tool = defineTool('Tool', name, config, handler);
    if (isHarnessHub(name)) {
      throw new Error(`A tool cannot be named "${name}", the name of a harness hub: use new Hub("${name}").tool(...)`);
    }
    this.#checkToolName(name);
    this.#tools.set(name, tool);
    this.#changes.emit(DECLARED);
    return this;
  }

  /** Adds a tool given as one object. */
  addTool<
    const Args extends AnySchema = NoArgs,
    const Returns extends AnySchema | undefined = undefined,
    Returned = unknown,
  >(tool: ToolObject<Args, Returns, Returned>): this {
    return this.tool(tool.name, tool, tool.handler);
  }

  /** Adds a hub as ONE tool, which calls the functions of the hub. @throws Error for a name that is taken. */
  mount(hub: Hub): this {
    const definition = hub?.[HUB];
    if (definition === undefined) throw new TypeError('mount takes a Hub: env.mount(new Hub("setup").tool(...))');
    this.#checkToolName(definition.name);
    if (this.#resources.has(functionsUri(definition.name))) {
      throw duplicate('resource', functionsUri(definition.name), this.#label);
    }
    checkFunctionNames([definition], this.#scenarios.keys(), this.#label);
    this.#hubs.set(definition.name, definition);
    this.#changes.emit(DECLARED);
    return this;
  }

  /**
   * Adds a scenario. It is either a generator that yields the prompt, receives the answer and returns the evaluation,
   * or it is made of functions of the hubs `setup` and `evaluate`.
   *
   * @throws Error for a name that is taken; TypeError for a bad name, schema or placeholder.
   */
  scenario<
    const Args extends AnySchema = NoArgs,
    const Answer extends AnySchema | undefined = undefined,
    // `Run` is a type parameter because TypeScript infers the type of the answer at the `yield` only this way.
    Run extends ScenarioFunction<Args, Answer> = ScenarioFunction<Args, Answer>,
  >(name: string, config: ScenarioConfig<Args, Answer>, run: Run): Scenario<Args>;
  scenario<
    const Args extends AnySchema = NoArgs,
    const Answer extends AnySchema | undefined = undefined,
    const PromptText = unknown,
    const SetupArgs = unknown,
    const EvaluateArgs = unknown,
  >(
    name: string,
    config: ScenarioConfig<Args, Answer> & WrittenHalves<Args, PromptText, SetupArgs, EvaluateArgs>,
  ): Scenario<Args>;
  scenario<Args extends AnySchema, Answer extends AnySchema | undefined>(
    name: string,
    config: ScenarioConfig<Args, Answer> & Partial<HubHalves>,
    run?: ScenarioFunction<Args, Answer>,
  ): Scenario<Args> {
    const label = `Scenario "${name}"`;
    const halves = run === undefined ? halvesOf(label, config) : undefined;
    const definition = defineScenario(name, config, (args, context) =>
      halves === undefined
        ? runGenerator(label, run?.(args, context), config.user !== undefined)
        : runHubHalves(label, halves, this.#hubs, args, context),
    );
    if (halves !== undefined) checkPlaceholders(label, halves, definition.args);
    this.#checkPromptName(name);
    checkFunctionNames(this.#hubs.values(), [name], this.#label);
    this.#scenarios.set(name, definition);
    if (halves !== undefined) this.#hubScenarios.set(name, halves);
    this.#changes.emit(DECLARED);
    return scenarioHandle(name);
  }

  /** Adds a resource under `<scheme>://<name>`, or a template such as `notes://{id}`. @throws Error for a taken URI. */
  resource<const Uri extends string>(uri: Uri, config: ResourceConfig<Uri>, handler: ResourceHandler<Uri>): this {
    const resource = defineResource(uri, config, handler);
    const isOurs =
      uri === SCENARIOS_URI ||
      uri.startsWith(tasksUri('')) ||
      [...this.#hubs.keys()].some((hub) => uri === functionsUri(hub));
    if (isOurs || this.#resources.has(uri)) throw duplicate('resource', uri, this.#label);
    this.#resources.set(uri, resource);
    this.#changes.emit(DECLARED);
    return this;
  }

  /** Adds an MCP prompt. Each scenario already is a prompt. @throws Error for a name that is taken. */
  prompt<const Args extends AnySchema = NoArgs>(
    name: string,
    config: PromptConfig<Args>,
    handler: PromptHandler<Args>,
  ): this {
    const prompt = definePrompt(name, config, handler);
    this.#checkPromptName(name);
    this.#prompts.set(name, prompt);
    this.#changes.emit(DECLARED);
    return this;
  }

  /**
   * Removes a tool. Open sessions see the change too, and their clients are told that the list has changed. The same is
   * true of every declaration after the start of a session. Returns false if the tool does not exist.
   */
  removeTool(name: string): boolean {
    return this.#removed(this.#tools.delete(name));
  }

  /** Removes a resource or a template. Returns false if no resource has this URI. */
  removeResource(uri: string): boolean {
    return this.#removed(this.#resources.delete(uri));
  }

  /** Removes a prompt. Scenarios cannot be removed. Returns false if the prompt does not exist. */
  removePrompt(name: string): boolean {
    return this.#removed(this.#prompts.delete(name));
  }

  /** Tells the clients that subscribed to this resource that its content has changed. */
  notifyResourceUpdated(uri: string): void {
    this.#changes.emit({ kind: 'resource', uri });
  }

  /**
   * Makes the tools, resources and prompts of an MCP server a part of this environment. Each session has its own
   * connection. It opens when the session initializes, before the initialize hooks, and closes with the session. The
   * initialization fails if a name of the server is already taken.
   *
   * @param name is the name of the connection in messages and logs.
   * @throws Error for a name that is taken; TypeError for a bad name, target or option.
   */
  connect(name: string, source: ConnectionSource, options: ConnectionOptions = {}): this {
    const connection = defineConnection(name, source, options);
    if (this.#connections.has(name)) throw duplicate('connection', name, this.#label);
    this.#connections.set(name, connection);
    return this;
  }

  /**
   * Declares a sandbox, by its options or by a function of the scenario's arguments. Each session gets its own, from
   * before the setup to its end. The object can be passed on at once. @throws Error for a name that is taken; TypeError for a bad name or option.
   */
  sandbox(source?: SandboxSource): Sandbox;
  sandbox(name: string, source?: SandboxSource): Sandbox;
  sandbox(first?: string | SandboxSource, second?: SandboxSource): Sandbox {
    const { declaration, sandbox } = declareSandbox(first, second);
    if (this.#sandboxes.has(declaration.name)) throw duplicate('sandbox', declaration.name, this.#label);
    this.#sandboxes.set(declaration.name, declaration);
    return sandbox;
  }

  /** Adds sets of tools, such as those of `proctor/tools`. @throws Error for a second set of the same role. */
  use(...sets: readonly ToolsFor<EnvironmentServer>[]): this {
    addToolSets(this, sets, this.#roles, this.#label);
    return this;
  }

  /** Adds a hook that runs during the MCP `initialize` request of each session, before the reply. */
  initialize(hook: InitializeHook): this {
    this.#initializeHooks.push(checkHook('initialize', hook));
    return this;
  }

  /** Adds a hook that runs once, on SIGTERM only. These hooks run in reverse order of their registration. */
  shutdown(hook: Hook): this {
    this.#shutdownHooks.push(checkHook('shutdown', hook));
    return this;
  }

  /** Adds a hook that runs when a session ends, for any reason. */
  close(hook: Hook): this {
    this.#closeHooks.push(checkHook('close', hook));
    return this;
  }

  #removed(isRemoved: boolean): boolean {
    if (isRemoved) this.#changes.emit(DECLARED);
    return isRemoved;
  }

  get #label(): string {
    return `Environment "${this.#definition.name}"`;
  }

  #checkToolName(name: string): void {
    if (this.#tools.has(name)) throw duplicate('tool', name, this.#label);
    if (this.#hubs.has(name)) throw duplicate('hub', name, this.#label);
  }

  #checkPromptName(name: string): void {
    if (this.#scenarios.has(name)) throw duplicate('scenario', name, this.#label);
    if (this.#prompts.has(name)) throw duplicate('prompt', name, this.#label);
  }
}

const DECLARED: DefinitionChange = { kind: 'declared' };
