import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SetupResult } from '../../contract/scenario.ts';
import { type AnswerWay, SUBMIT_ANSWER } from '../../contract/service/seat.ts';
import type { AgentToolEntry } from '../../environment/client/environment-client.ts';
import type { McpEnvironmentClient } from '../../environment/client/mcp-environment-client.ts';
import type { MountedEndpoint } from '../../environment/server/http/mounted-endpoint.ts';
import type { Operation } from '../../models/dialects/operations.ts';
import type { AgentModel } from '../../models/gateway/agent-call.ts';
import type { AgentTurn } from '../session/agent.ts';
import { ModelEndpoint } from './model-endpoint/model-endpoint.ts';
import { OpenRequests } from './model-endpoint/open-requests.ts';
import type { SeatAgent } from './seat-agent.ts';
import { openSeatEndpoint } from './seat-endpoint.ts';
import { SeatTools } from './seat-tools.ts';

/** Milliseconds for pending replies when a seat ends, and for the MCP sessions to end. */
const LAST_REPLIES_MS = 2_000;

export interface SeatEndpointsOptions {
  /** Agent of the seat, whose turn has begun. */
  readonly agent: SeatAgent;
  readonly turn: AgentTurn;
  /** Client of the environment after its setup. */
  readonly client: McpEnvironmentClient;
  readonly setup: SetupResult;
  readonly answer: AnswerWay;
  /** The run's model; undefined if the agent brings its own. */
  readonly model?: AgentModel | undefined;
  /** Milliseconds of two waits (see `ModelCallsOptions`). For tests. */
  readonly timing?: { readonly gateMs?: number; readonly lastCallsMs?: number } | undefined;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds until an unused MCP session ends. */
  readonly idleTimeoutMs: number;
  report(line: string): void;
}

/**
 * The addresses of one agent in its turn: the MCP endpoint with the tools of its scenario, and the model addresses if
 * the run has a model. It knows neither how requests arrive nor who plays the session. The caller must close it.
 */
export class SeatEndpoints {
  readonly #agent: SeatAgent;
  readonly #endpoint: MountedEndpoint;
  readonly #requests: OpenRequests;
  readonly #desk: ModelEndpoint | undefined;

  private constructor(options: SeatEndpointsOptions, endpoint: MountedEndpoint, desk: ModelEndpoint | undefined) {
    this.#agent = options.agent;
    this.#endpoint = endpoint;
    this.#desk = desk;
    this.#requests = new OpenRequests(options.now);
  }

  /** @throws BoundaryError `environment`; `setup` if the environment has its own tool `submit_answer`. */
  static async open(options: SeatEndpointsOptions): Promise<SeatEndpoints> {
    const { agent, turn, client, setup, answer, idleTimeoutMs, report } = options;
    let desk: ModelEndpoint | undefined;
    const { endpoint, tools } = await openSeatEndpoint({
      client,
      setup,
      hasUser: turn.user !== undefined,
      hasAnswerTool: answer !== 'final_message',
      idleTimeoutMs,
      report,
      call: (name, args, signal) => desk?.calls.call(name, args, signal) ?? agent.call(name, args, signal),
      submit: (value) => {
        desk?.calls.submitted({ answer: value });
        return agent.answer(value);
      },
      onListed: () => desk?.calls.gate.listed(),
    });
    desk = options.model && createModelEndpoint(options, options.model, tools);
    return new SeatEndpoints(options, endpoint, desk);
  }

  /** True once the agent's turn is over and its requests are refused. */
  get isOver(): boolean {
    return this.#agent.isOver;
  }

  /** True if the seat has model addresses. */
  get hasModel(): boolean {
    return this.#desk !== undefined;
  }

  /** Milliseconds since the last request; 0 while one is in progress. */
  get idleMs(): number {
    return this.#requests.idleMs;
  }

  /** Answers an MCP request. Host, Origin and secret are checked already. Never rejects. */
  async handleMcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (isWork(request)) this.#requests.add(response);
    await this.#endpoint.handle(request, response, 'agent');
  }

  /** Answers a request to a model address. The secret is checked already. Never rejects. */
  async handleModel(request: IncomingMessage, response: ServerResponse, operation: Operation): Promise<void> {
    this.#requests.add(response);
    await this.#desk?.handle(request, response, operation);
  }

  /** Waits for pending replies, then ends the MCP sessions. Never rejects. */
  async close(): Promise<void> {
    await this.#requests.none(LAST_REPLIES_MS);
    await this.#endpoint.close(LAST_REPLIES_MS);
  }
}

function createModelEndpoint(
  options: SeatEndpointsOptions,
  model: AgentModel,
  entries: readonly AgentToolEntry[],
): ModelEndpoint {
  const { agent, turn, setup, answer, timing, now } = options;
  const names = entries.map(({ name }) => name);
  const all = answer === 'final_message' ? names : [...names, SUBMIT_ANSWER];
  return new ModelEndpoint({
    agent,
    turn,
    model,
    entries,
    // A model needs no `submit_answer` if the agent may answer by its last text.
    tools: new SeatTools(all, answer === 'tool' ? all : names),
    allowed: { kinds: setup.provider_tools ?? [], isSpoken: (dialect) => model.speaks(dialect) },
    createdAt: now(),
    ...timing,
  });
}

/**
 * False for a stream that only waits for messages, in both protocol eras. Since version 2026-07-28, a header names the
 * method of the body.
 */
function isWork({ method, headers }: IncomingMessage): boolean {
  return method === 'POST' && headers['mcp-method'] !== 'subscriptions/listen';
}
