import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AgentToolEntry } from '../client/environment-client.ts';
import type { McpEnvironmentClient } from '../client/mcp-environment-client.ts';
import type { SetupResult } from '../contract/scenario.ts';
import { type AnswerWay, SUBMIT_ANSWER } from '../contract/seat.ts';
import type { Operation } from '../dialects/operations.ts';
import type { MountedEndpoint } from '../mcp/http/mounted-endpoint.ts';
import type { AgentModel } from '../model/agent-call.ts';
import type { AgentTurn } from '../rollout/agent.ts';
import { ModelDesk } from './model-desk.ts';
import { OpenRequests } from './open-requests.ts';
import type { SeatAgent } from './seat-agent.ts';
import { openSeatEndpoint } from './seat-endpoint.ts';
import { SeatTools } from './seat-tools.ts';

/** Milliseconds for replies that are on their way when a seat ends, and for the MCP sessions to end. */
const LAST_REPLIES_MS = 2_000;

export interface SeatDoorOptions {
  /** In its turn: it has begun. */
  readonly agent: SeatAgent;
  readonly turn: AgentTurn;
  /** The environment, set up. */
  readonly client: McpEnvironmentClient;
  readonly setup: SetupResult;
  readonly answer: AnswerWay;
  /** The model of the run; undefined for an agent that brings its own. */
  readonly model?: AgentModel | undefined;
  /** For tests: milliseconds of the gate and after the last step. */
  readonly timing?: { readonly gateMs?: number; readonly lastCallsMs?: number } | undefined;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds after which an MCP session that nobody uses is ended. */
  readonly idleTimeoutMs: number;
  report(line: string): void;
}

/**
 * The way in for one agent in its turn: the MCP endpoint with the tools of its scenario, and the addresses for its model
 * calls where it has a model of the run. It does not know how requests come to it, nor who plays the session.
 * Its opener closes it.
 */
export class SeatDoor {
  readonly #agent: SeatAgent;
  readonly #endpoint: MountedEndpoint;
  readonly #requests: OpenRequests;
  readonly #desk: ModelDesk | undefined;

  private constructor(options: SeatDoorOptions, endpoint: MountedEndpoint, desk: ModelDesk | undefined) {
    this.#agent = options.agent;
    this.#endpoint = endpoint;
    this.#desk = desk;
    this.#requests = new OpenRequests(options.now);
  }

  /** @throws BoundaryError `environment`, and `setup` for an environment that has a tool `submit_answer` of its own. */
  static async open(options: SeatDoorOptions): Promise<SeatDoor> {
    const { agent, turn, client, setup, answer, idleTimeoutMs, report } = options;
    let desk: ModelDesk | undefined;
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
    desk = options.model && createDesk(options, options.model, tools);
    return new SeatDoor(options, endpoint, desk);
  }

  /** True once nothing of the agent is taken any more. */
  get isOver(): boolean {
    return this.#agent.isOver;
  }

  /** Whether it has model addresses. */
  get hasModel(): boolean {
    return this.#desk !== undefined;
  }

  /** Milliseconds since it had a request; 0 while it has one. */
  get idleMs(): number {
    return this.#requests.idleMs;
  }

  /** Answers a request of MCP whose Host, Origin and secret have been checked. Never rejects. */
  async handleMcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (isWork(request)) this.#requests.add(response);
    await this.#endpoint.handle(request, response, 'agent');
  }

  /** Answers a request to a model address whose secret has been checked. Never rejects. */
  async handleModel(request: IncomingMessage, response: ServerResponse, operation: Operation): Promise<void> {
    this.#requests.add(response);
    await this.#desk?.handle(request, response, operation);
  }

  /** Lets replies end that are on their way, then the MCP sessions. Never rejects. */
  async close(): Promise<void> {
    await this.#requests.none(LAST_REPLIES_MS);
    await this.#endpoint.close(LAST_REPLIES_MS);
  }
}

function createDesk(options: SeatDoorOptions, model: AgentModel, entries: readonly AgentToolEntry[]): ModelDesk {
  const { agent, turn, setup, answer, timing, now } = options;
  const names = entries.map(({ name }) => name);
  const all = answer === 'final_message' ? names : [...names, SUBMIT_ANSWER];
  return new ModelDesk({
    agent,
    turn,
    model,
    entries,
    // One that may end otherwise needs no submit_answer.
    tools: new SeatTools(all, answer === 'tool' ? all : names),
    allowed: { kinds: setup.provider_tools ?? [], isSpoken: (dialect) => model.speaks(dialect) },
    createdAt: now(),
    ...timing,
  });
}

/** A stream that waits for messages is none, of either era. On 2026-07-28 the header has to say what the body asks. */
function isWork({ method, headers }: IncomingMessage): boolean {
  return method === 'POST' && headers['mcp-method'] !== 'subscriptions/listen';
}
