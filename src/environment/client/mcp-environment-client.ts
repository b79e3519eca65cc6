import type { RequestMethod, ResultTypeMap } from '@modelcontextprotocol/client';
import type { z } from 'zod';
import { BoundaryError } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import { isTooDeep, MAX_JSON_DEPTH } from '../../contract/json-depth.ts';
import { META, SCENARIOS_URI } from '../../contract/names.ts';
import {
  type Evaluation,
  evaluationSchema,
  type SandboxEnd,
  type ScenarioEntry,
  type SetupResult,
  type Solution,
  sandboxOpeningSchema,
  scenarioListSchema,
  setupResultSchema,
  solutionSchema,
} from '../../contract/scenario.ts';
import { matchesToolPatterns } from '../../support/text/tool-patterns.ts';
import {
  type McpConnection,
  REVISION_WITHOUT_HANDSHAKE,
  type RequestOptions,
  type RequestParams,
} from '../mcp-client/connection.ts';
import { jsonOf, readList } from '../mcp-client/reading.ts';
import {
  type Attempt,
  harnessRemedy,
  isUnknownName,
  readSandboxMeta,
  toAttempt,
  toBoundaryError,
} from './client-failure.ts';
import type {
  AgentToolEntry,
  CallOptions,
  ConnectOptions,
  EnvironmentClient,
  Sampler,
  ToolResult,
} from './environment-client.ts';
import { type EnvironmentLink, harnessMeta } from './environment-link.ts';
import { toAgentError, toAgentTool, toCount, toErrorResult, toShortName, toToolResult } from './mcp-tools.ts';
import type { SampleAnswers } from './sample-answers.ts';
import { mayHaveSolution, noSolution, SOLUTIONS_URI, solutionFailed } from './solution-faults.ts';

const TOO_DEEP = `nested more than ${MAX_JSON_DEPTH} deep`;

/** Marks a request as made for a model, so that the server answers it as an agent's (contract section 1). */
const AS_AGENT = { [META.audience]: 'agent' };

const TRANSPORTS = { module: 'pipe', command: 'pipe', url: 'tcp', memory: undefined } as const;

interface McpEnvironmentClientOptions {
  readonly onLog: ConnectOptions['onLog'];
  /** Answers the environment's questions to a model. */
  readonly samples: SampleAnswers;
}

/** An `EnvironmentClient` over a connection. It owns the connection and closes it. */
export class McpEnvironmentClient implements EnvironmentClient {
  readonly name: string;
  readonly version: string;
  readonly protocol: string;
  readonly transport: 'pipe' | 'tcp' | undefined;
  /** Instructions from the server's handshake, or an empty text. */
  readonly instructions: string;
  readonly isShared: boolean;
  readonly lost: Promise<BoundaryError>;
  /** Resolves when `close` has finished. */
  readonly closed: Promise<void>;
  /** `_meta` of the server's answer to the handshake. */
  readonly handshakeMeta: JsonObject;
  /** Number of sessions that may share a process, as the handshake says. */
  readonly sessionsPerProcess: number;
  sandboxEnds: readonly SandboxEnd[] = [];
  onSandboxRefusal: EnvironmentClient['onSandboxRefusal'];

  readonly #connection: McpConnection;
  readonly #link: EnvironmentLink;
  readonly #onLog: ConnectOptions['onLog'];
  readonly #samples: SampleAnswers;
  #isClosing = false;
  #resolveClosed: () => void = () => {};

  constructor(connection: McpConnection, link: EnvironmentLink, { onLog, samples }: McpEnvironmentClientOptions) {
    this.name = connection.server?.name ?? link.label;
    this.version = connection.server?.version ?? '';
    this.protocol = connection.protocol;
    this.instructions = connection.instructions;
    this.handshakeMeta = connection.handshakeMeta;
    this.sessionsPerProcess = toCount(connection.handshakeMeta[META.sessionsPerProcess]);
    this.transport = TRANSPORTS[link.kind];
    this.isShared = link.isShared ?? false;
    this.#connection = connection;
    this.#link = link;
    this.#onLog = onLog;
    this.#samples = samples;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.lost = new Promise((resolve) => {
      connection.onclose = () => this.#isClosing || resolve(this.#toLost());
    });
  }

  /** True if its sessions have sandboxes, as the handshake says. */
  get hasSandboxes(): boolean {
    return this.handshakeMeta[META.sandboxes] === true;
  }

  get isLost(): boolean {
    return this.#link.ending() !== undefined;
  }

  async scenarios(options: CallOptions = {}): Promise<readonly ScenarioEntry[]> {
    const attempt = toAttempt('environment', `reading its scenarios (${SCENARIOS_URI})`, options);
    // A server without resources would refuse the request with an unclear message of its own.
    if (this.#connection.capabilities.resources === undefined) {
      throw this.#failure(attempt, `is an MCP server without ${SCENARIOS_URI}, and so not an environment of Proctor`);
    }
    const result = await this.#request(attempt, 'resources/read', { uri: SCENARIOS_URI }, options);
    return this.#parse(scenarioListSchema, jsonOf(result), attempt).scenarios;
  }

  async makeSandboxes(scenario: string, args: JsonObject, run: string, options: CallOptions = {}) {
    if (!this.hasSandboxes) return [];
    const attempt = toAttempt('environment', `making the sandboxes of the scenario "${scenario}"`, options);
    const _meta = { [META.sandboxes]: true, [META.run]: run };
    const params = { name: 'setup', arguments: { name: toShortName(scenario), arguments: args }, _meta };
    return this.#parse(sandboxOpeningSchema, await this.#callHub(params, attempt, options), attempt).sandboxes;
  }

  async setup(scenario: string, args: JsonObject, options: CallOptions = {}): Promise<SetupResult> {
    const attempt = toAttempt('setup', `running the setup of the scenario "${scenario}"`, options);
    const params = { name: 'setup', arguments: { name: toShortName(scenario), arguments: args } };
    return this.#parse(setupResultSchema, await this.#callHub(params, attempt, options), attempt);
  }

  async tools(
    options: CallOptions & { readonly patterns?: readonly string[] | null } = {},
  ): Promise<readonly AgentToolEntry[]> {
    const attempt = toAttempt('environment', 'listing its tools', options);
    const tools = await this.#during(attempt, options, (settings, meta) =>
      readList(this.#connection, 'tools', {
        ...settings,
        params: { _meta: { ...meta, ...AS_AGENT } },
        toError: (words) => this.#failure(attempt, words),
      }),
    );
    return tools.filter(({ name }) => matchesToolPatterns(name, options.patterns)).map(toAgentTool);
  }

  async call(name: string, args: JsonObject, options: CallOptions = {}): Promise<ToolResult> {
    const attempt = toAttempt('tool', `running the tool "${name}"`, options);
    const params = { name, arguments: args, _meta: AS_AGENT };
    if (isTooDeep({ params })) return toErrorResult(`The arguments of ${name} are ${TOO_DEEP}`);
    try {
      return toToolResult(await this.#request(attempt, 'tools/call', params, options));
    } catch (error) {
      const told = toAgentError(name, error, this.#onLog);
      if (told === undefined) throw error;
      return told;
    }
  }

  async evaluate(scenario: string, answer: unknown, options: CallOptions = {}): Promise<Evaluation> {
    const attempt = toAttempt('evaluate', `evaluating the scenario "${scenario}"`, options);
    // JSON cannot hold undefined, so the argument would be left out.
    const params = {
      name: 'evaluate',
      arguments: { name: toShortName(scenario), arguments: { answer: answer ?? null } },
    };
    const asked = () => this.#callHub(params, attempt, options);
    return this.#parse(evaluationSchema, await this.#samples.duringEvaluation(asked), attempt);
  }

  async callFunction(hub: string, name: string, args: JsonObject, options: CallOptions = {}): Promise<ToolResult> {
    const attempt = toAttempt('environment', `running the function "${name}" of the hub "${hub}"`, options);
    const params = { name: hub, arguments: { name, arguments: args } };
    if (isTooDeep({ params })) return toErrorResult(`The arguments of ${name} are ${TOO_DEEP}`);
    return toToolResult(await this.#request(attempt, 'tools/call', params, options));
  }

  answerSamples(sample: Sampler): void {
    this.#samples.answer = sample;
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
      const reading = toAttempt('environment', `reading ${SOLUTIONS_URI}`, options);
      const read = () => this.#request(reading, 'resources/read', { uri: SOLUTIONS_URI }, options);
      // A server at a URL also hides the hub if the harness key is wrong.
      const hides = this.#link.kind === 'url';
      if (options.signal?.aborted || (await mayHaveSolution(read, params.arguments.name, hides))) throw error;
      throw noSolution(scenario, error);
    }
  }

  /**
   * Sends any other MCP request. It is sent as the harness, unless its `_meta` says that it is an agent's.
   *
   * @throws BoundaryError boundary `environment`, with the server's error as its cause; the reason of the signal.
   */
  async request<Method extends RequestMethod>(
    method: Method,
    params: RequestParams,
    options: CallOptions = {},
  ): Promise<ResultTypeMap[Method]> {
    // Without a handshake, each request has to say who sends it.
    const isSaid = this.#connection.protocol !== REVISION_WITHOUT_HANDSHAKE;
    const _meta = isSaid ? params._meta : { ...harnessMeta(this.#link), ...params._meta };
    const attempt = toAttempt('environment', `answering ${method}`, options);
    return await this.#request(attempt, method, { ...params, ...(_meta && { _meta }) }, options);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#connection.close();
    this.#resolveClosed();
  }

  /** Calls a function of a hub as the harness and returns its structured content. An error result is thrown. */
  async #callHub(
    params: RequestParams & { readonly name: string },
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
      throw this.#failure(attempt, `does not know the hub "${params.name}". ${harnessRemedy(this.#link)}`, error);
    }
  }

  async #request<Method extends RequestMethod>(
    attempt: Attempt,
    method: Method,
    params: RequestParams,
    options: CallOptions,
  ): Promise<ResultTypeMap[Method]> {
    // The server would refuse such a message or crash.
    if (isTooDeep({ params })) throw this.#failure(attempt, `did not get the request: its arguments are ${TOO_DEEP}`);
    const result = await this.#during(attempt, options, (settings, meta) =>
      this.#connection.request(method, { ...params, _meta: { ...meta, ...params._meta } }, settings),
    );
    if (this.hasSandboxes && method === 'tools/call') {
      const { ends, refusals, failure } = readSandboxMeta(result, attempt.doing, this.#shownName);
      for (const refusal of refusals) this.onSandboxRefusal?.(refusal);
      this.sandboxEnds = ends ?? this.sandboxEnds;
      if (failure !== undefined) throw failure;
    }
    return result;
  }

  async #during<Result>(
    attempt: Attempt,
    { signal, onProgress, meta }: CallOptions,
    run: (settings: RequestOptions, meta: CallOptions['meta']) => Promise<Result>,
  ): Promise<Result> {
    signal?.throwIfAborted();
    try {
      const result = await run({ signal, timeoutMs: attempt.timeoutMs, onProgress }, meta);
      // Code that walks through the JSON later would overflow the stack.
      if (!isTooDeep(result)) return result;
      throw this.#failure(attempt, `answered ${attempt.doing} with JSON ${TOO_DEEP}`);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw await toBoundaryError(error, attempt, this.#shownName, this.#link);
    }
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
}
