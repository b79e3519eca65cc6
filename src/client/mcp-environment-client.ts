import {
  type Client,
  ProtocolError,
  ProtocolErrorCode,
  type RequestMethod,
  type ResultTypeMap,
} from '@modelcontextprotocol/client';
import type { z } from 'zod';
import { BoundaryError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import { isTooDeep, MAX_JSON_DEPTH } from '../contract/json-depth.ts';
import { META, SCENARIOS_URI } from '../contract/names.ts';
import {
  type Evaluation,
  evaluationSchema,
  type ScenarioEntry,
  type SetupResult,
  type Solution,
  scenarioListSchema,
  setupResultSchema,
  solutionSchema,
} from '../contract/scenario.ts';
import { LONGEST_TIMER_MS } from '../runtime/longest-timer.ts';
import { matchesToolPatterns } from '../text/tool-patterns.ts';
import { type Attempt, toBoundaryError } from './client-failure.ts';
import type {
  AgentToolEntry,
  CallOptions,
  ConnectOptions,
  EnvironmentClient,
  ToolResult,
} from './environment-client.ts';
import type { EnvironmentLink } from './environment-link.ts';
import { jsonOf } from './json-resource.ts';
import { toAgentTool, toErrorResult, toToolResult } from './mcp-tools.ts';
import type { ProgressListeners } from './progress-listeners.ts';
import { mayList, noSolution, SOLUTIONS_URI, solutionFailed } from './solution-faults.ts';

const TOO_DEEP = `nested more than ${MAX_JSON_DEPTH} deep`;
/** Pages of a list; a server that gives more does not end its list at all. */
const MAX_LIST_PAGES = 100;

/** Marks a request as one for a model, so that the server answers it as an agent's (contract section 1, "Audience"). */
const AS_AGENT = { [META.audience]: 'agent' };

const TRANSPORTS = { module: 'pipe', command: 'pipe', url: 'tcp', memory: undefined } as const;

interface Params {
  readonly _meta?: Readonly<Record<string, unknown>>;
  readonly [name: string]: unknown;
}

/** An `EnvironmentClient` over a client of the MCP SDK whose handshake is done. It owns the link and closes it. */
export class McpEnvironmentClient implements EnvironmentClient {
  readonly name: string;
  readonly version: string;
  readonly protocol: string;
  readonly transport: 'pipe' | 'tcp' | undefined;
  /** Instructions of the server's handshake; empty without any. */
  readonly instructions: string;
  readonly lost: Promise<BoundaryError>;

  readonly #client: Client;
  readonly #link: EnvironmentLink;
  readonly #progress: ProgressListeners;
  readonly #onLog: ConnectOptions['onLog'];
  #isClosing = false;

  constructor(client: Client, link: EnvironmentLink, progress: ProgressListeners, onLog: ConnectOptions['onLog']) {
    const server = client.getServerVersion();
    this.name = server?.name ?? link.label;
    this.version = server?.version ?? '';
    this.protocol = client.getNegotiatedProtocolVersion() ?? '';
    this.instructions = client.getInstructions() ?? '';
    this.transport = TRANSPORTS[link.kind];
    this.#client = client;
    this.#link = link;
    this.#progress = progress;
    this.#onLog = onLog;
    this.lost = new Promise((resolve) => {
      client.onclose = () => {
        if (!this.#isClosing) resolve(this.#toLost());
      };
    });
  }

  /** True as soon as its process is known to have ended. */
  get isLost(): boolean {
    return this.#link.ending() !== undefined;
  }

  async scenarios(options: CallOptions = {}): Promise<readonly ScenarioEntry[]> {
    const attempt = toAttempt('environment', `reading its scenarios (${SCENARIOS_URI})`, options);
    // A server without the capability knows no resource, and says so in words of its own.
    if (this.#client.getServerCapabilities()?.resources === undefined) {
      throw this.#failure(attempt, `is an MCP server without ${SCENARIOS_URI}, and so not an environment of Proctor`);
    }
    const result = await this.#request(attempt, 'resources/read', { uri: SCENARIOS_URI }, options);
    return this.#parse(scenarioListSchema, jsonOf(result), attempt).scenarios;
  }

  async setup(scenario: string, args: JsonObject, options: CallOptions = {}): Promise<SetupResult> {
    const attempt = toAttempt('setup', `running the setup of the scenario "${scenario}"`, options);
    const params = { name: 'setup', arguments: { name: toShortName(scenario), arguments: args } };
    return this.#parse(setupResultSchema, await this.#callHub(params, attempt, options), attempt);
  }

  async tools(
    options: CallOptions & { readonly patterns?: readonly string[] | null } = {},
  ): Promise<readonly AgentToolEntry[]> {
    // A server without the capability answers `tools/list` with an error, and has no tools.
    if (this.#client.getServerCapabilities()?.tools === undefined) return [];
    const attempt = toAttempt('environment', 'listing its tools', options);
    const entries: AgentToolEntry[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
      const params = { _meta: AS_AGENT, ...(cursor === undefined ? {} : { cursor }) };
      const result = await this.#request(attempt, 'tools/list', params, options);
      for (const tool of result.tools) {
        if (matchesToolPatterns(tool.name, options.patterns)) entries.push(toAgentTool(tool));
      }
      if (result.nextCursor === undefined) return entries;
      cursor = result.nextCursor;
    }
    throw this.#failure(attempt, `gave more than ${MAX_LIST_PAGES} pages of tools and did not end its list`);
  }

  async call(name: string, args: JsonObject, options: CallOptions = {}): Promise<ToolResult> {
    const attempt = toAttempt('tool', `running the tool "${name}"`, options);
    const params = { name, arguments: args, _meta: AS_AGENT };
    if (isTooDeep({ params })) return toErrorResult(`The arguments of ${name} are ${TOO_DEEP}`);
    try {
      return toToolResult(await this.#request(attempt, 'tools/call', params, options));
    } catch (error) {
      const told = this.#toAgentError(name, error);
      if (told === undefined) throw error;
      return told;
    }
  }

  async evaluate(scenario: string, answer: unknown, options: CallOptions = {}): Promise<Evaluation> {
    const attempt = toAttempt('evaluate', `evaluating the scenario "${scenario}"`, options);
    // A value that JSON does not have (undefined) would be left out of the arguments.
    const params = {
      name: 'evaluate',
      arguments: { name: toShortName(scenario), arguments: { answer: answer ?? null } },
    };
    return this.#parse(evaluationSchema, await this.#callHub(params, attempt, options), attempt);
  }

  async solution(
    scenario: string,
    args: JsonObject,
    results: readonly ToolResult[],
    options: CallOptions = {},
  ): Promise<Solution> {
    const attempt = toAttempt('environment', `asking for the solution of the scenario "${scenario}"`, options);
    const params = {
      name: 'solution',
      arguments: { name: toShortName(scenario), arguments: args },
      _meta: { [META.solutionResults]: results },
    };
    // An error of the author's function is the scenario's fault.
    const toFailure = (told: string) => solutionFailed(scenario, told);
    try {
      return this.#parse(solutionSchema, await this.#callHub(params, attempt, options, toFailure), attempt);
    } catch (error) {
      if (options.signal?.aborted || (await this.#mayHaveSolution(params.arguments.name, options))) throw error;
      throw noSolution(scenario, error);
    }
  }

  /**
   * Any other MCP request: as the harness, unless its `_meta` says that it is an agent's.
   *
   * @throws BoundaryError boundary `environment`, with the server's error as its cause; the reason of the signal.
   */
  async request<Method extends RequestMethod>(
    method: Method,
    params: Params,
    options: CallOptions = {},
  ): Promise<ResultTypeMap[Method]> {
    return await this.#request(toAttempt('environment', `answering ${method}`, options), method, params, options);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#link.close();
  }

  /** False where the server lists the functions of the hub without it, or knows no such hub. */
  async #mayHaveSolution(scenario: string, options: CallOptions): Promise<boolean> {
    const attempt = toAttempt('environment', `reading ${SOLUTIONS_URI}`, options);
    try {
      return mayList(await this.#request(attempt, 'resources/read', { uri: SOLUTIONS_URI }, options), scenario);
    } catch (error) {
      // With a wrong harness key a server at a URL knows no hub either.
      return this.#link.kind === 'url' || !isUnknownName(error);
    }
  }

  /** Calls a function of a hub as the harness, for its structured content. An error that the hub answers is a failure. */
  async #callHub(
    params: Params & { readonly name: string },
    attempt: Attempt,
    options: CallOptions,
    toFailure = (told: string) => this.#failure(attempt, `failed while ${attempt.doing}: ${told}`),
  ): Promise<unknown> {
    try {
      const result = await this.#request(attempt, 'tools/call', params, options);
      if (result.isError !== true) return result.structuredContent;
      const text = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
      throw toFailure(text);
    } catch (error) {
      if (!isUnknownName(error)) throw error;
      throw this.#failure(attempt, `does not know the hub "${params.name}". ${this.#harnessRemedy()}`, error);
    }
  }

  async #request<Method extends RequestMethod>(
    attempt: Attempt,
    method: Method,
    params: Params,
    options: CallOptions,
  ): Promise<ResultTypeMap[Method]> {
    const { signal, onProgress } = options;
    const given = { ...options.meta, ...params._meta };
    const settings = { timeout: attempt.timeoutMs ?? LONGEST_TIMER_MS, ...(signal === undefined ? {} : { signal }) };
    const send = (meta: Params = {}) =>
      this.#client.request({ method, params: { ...params, _meta: { ...given, ...meta } } }, settings);
    signal?.throwIfAborted();
    // The other end refuses such a message, or dies of it.
    if (isTooDeep({ params })) throw this.#failure(attempt, `was not asked: its arguments are ${TOO_DEEP}`);
    try {
      const result =
        onProgress === undefined
          ? await send()
          : await this.#progress.listen(onProgress, (progressToken) => send({ progressToken }));
      // It would exhaust the stack of whoever walks it later.
      if (!isTooDeep(result)) return result;
      throw this.#failure(attempt, `answered ${attempt.doing} with JSON ${TOO_DEEP}`);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw await toBoundaryError(error, attempt, this.#shownName, this.#link);
    }
  }

  /** The result that tells an agent of an error to its call; undefined when the run cannot go on. */
  #toAgentError(name: string, error: unknown): ToolResult | undefined {
    const cause = error instanceof BoundaryError ? error.cause : error;
    if (!(cause instanceof ProtocolError)) return undefined;
    // Wrong parameters, an unknown name among them, are the model's own doing: it gets the server's words.
    if (cause.code === ProtocolErrorCode.InvalidParams) return toErrorResult(cause.message);
    if (cause.code !== ProtocolErrorCode.InternalError) return undefined;
    const message = `The tool "${name}" failed: ${cause.message}`;
    this.#onLog?.({ level: 'error', logger: 'environment', message });
    return toErrorResult(`The tool "${name}" failed`);
  }

  #parse<Value>(schema: z.ZodType<Value>, value: unknown, attempt: Attempt): Value {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const issues = parsed.error.issues.slice(0, 3).map(({ path, message }) => `${path.join('.') || 'it'}: ${message}`);
    throw this.#failure(
      attempt,
      `answered ${attempt.doing} with something else than Proctor's form (${issues.join('; ')}). ` +
        'Serve it with the "proctor" package, in a version that fits this one',
      parsed.error,
    );
  }

  #failure(attempt: Attempt, what: string, cause?: unknown): BoundaryError {
    const message = `The environment ${this.#shownName} ${what}`;
    return new BoundaryError(attempt.boundary, 'environment_failed', message, { cause });
  }

  #toLost(): BoundaryError {
    const ending = this.#link.ending() ?? 'closed the connection';
    return new BoundaryError('environment', 'environment_failed', `The environment ${this.#shownName} ${ending}`);
  }

  get #shownName(): string {
    return JSON.stringify(this.name);
  }

  #harnessRemedy(): string {
    if (this.#link.kind !== 'url') return 'It has no scenarios, or none with this half: add them to the environment.';
    const key = this.#link.harnessKey === undefined ? 'no harness key was given' : 'the harness key may be wrong';
    return `It has no scenarios, or ${key}: set "harnessKey" of this environment to the server's PROCTOR_HARNESS_KEY.`;
  }
}

function toAttempt(boundary: Attempt['boundary'], doing: string, { timeoutMs }: CallOptions): Attempt {
  const isLimited = timeoutMs !== undefined && timeoutMs > 0;
  return { boundary, doing, timeoutMs: isLimited ? Math.min(timeoutMs, LONGEST_TIMER_MS) : undefined };
}

/** Hubs know their functions by the short name. */
function toShortName(scenario: string): string {
  return scenario.slice(scenario.indexOf(':') + 1);
}

function isUnknownName(error: unknown): boolean {
  const cause = error instanceof BoundaryError ? error.cause : error;
  return cause instanceof ProtocolError && cause.code === ProtocolErrorCode.InvalidParams;
}
