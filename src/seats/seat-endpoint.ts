import { listAgentResources, readAgentResource } from '../client/agent-resources.ts';
import type { AgentToolEntry } from '../client/environment-client.ts';
import type { McpEnvironmentClient } from '../client/mcp-environment-client.ts';
import { BoundaryError } from '../contract/errors.ts';
import type { SetupResult } from '../contract/scenario.ts';
import { MESSAGE_USER, SUBMIT_ANSWER } from '../contract/seat.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../http/body.ts';
import { type MountedEndpoint, mountEndpoint } from '../mcp/http/mounted-endpoint.ts';
import { MESSAGE_USER_TOOL } from '../rollout/message-user.ts';
import { SeatServer, type SeatServerParts } from './seat-server.ts';

/** MCP sessions of one seat; the one that was idle longest gives way. */
const MAX_MCP_SESSIONS = 100;
/** Milliseconds for the lists of an environment that is set up. */
const READ_LISTS_MS = 60_000;

export interface SeatEndpointOptions extends Pick<SeatServerParts, 'call' | 'submit' | 'onListed'> {
  /** The environment, set up. */
  readonly client: McpEnvironmentClient;
  readonly setup: SetupResult;
  /** Whether it has a simulated user, with whom the agent talks by `message_user`. */
  readonly hasUser: boolean;
  /** Whether the agent may end the run by `submit_answer`. */
  readonly hasAnswerTool: boolean;
  /** Milliseconds after which an MCP session that nobody uses is ended. */
  readonly idleTimeoutMs: number;
  report(line: string): void;
}

/** The MCP server of a seat that is set up. Whoever opened it closes the endpoint. */
export interface SeatEndpoint {
  readonly endpoint: MountedEndpoint;
  /** The tools that the scenario allows. */
  readonly tools: readonly AgentToolEntry[];
}

/** @throws BoundaryError `environment`, and `setup` for an environment that has a tool of the seat's name. */
export async function openSeatEndpoint(options: SeatEndpointOptions): Promise<SeatEndpoint> {
  const { client, setup, hasUser, hasAnswerTool, idleTimeoutMs, report, call, submit, onListed } = options;
  const signal = AbortSignal.timeout(READ_LISTS_MS);
  const [own, resources] = await Promise.all([
    client.tools({ patterns: setup.tools, signal }),
    listAgentResources(client, { signal }),
  ]);
  const ours = [...(hasAnswerTool ? [SUBMIT_ANSWER] : []), ...(hasUser ? [MESSAGE_USER] : [])];
  const taken = ours.find((name) => own.some((tool) => tool.name === name));
  if (taken !== undefined) {
    const what = taken === MESSAGE_USER ? 'talks with its user' : 'gives its answer';
    const message = `The environment has a tool ${taken} of its own, by which an agent at a seat ${what}: name it otherwise`;
    throw new BoundaryError('setup', 'environment_failed', message);
  }
  const tools = hasUser ? [...own, MESSAGE_USER_TOOL] : own;
  const { name, version } = client;
  const source = () =>
    new SeatServer({
      name,
      version,
      setup,
      tools,
      resources,
      hasAnswerTool,
      call,
      read: (uri, abort) => readAgentResource(client, uri, { signal: abort }),
      submit,
      onListed,
    });
  const maxBodyBytes = DEFAULT_BODY_LIMIT_BYTES;
  return {
    endpoint: mountEndpoint(source, { report, maxSessions: MAX_MCP_SESSIONS, idleTimeoutMs, maxBodyBytes }),
    tools,
  };
}
