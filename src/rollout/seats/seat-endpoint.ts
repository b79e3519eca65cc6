import { BoundaryError } from '../../contract/errors.ts';
import type { SetupResult } from '../../contract/scenario.ts';
import { MESSAGE_USER, SUBMIT_ANSWER } from '../../contract/service/seat.ts';
import { listAgentResources, readAgentResource } from '../../environment/client/agent-resources.ts';
import type { AgentToolEntry } from '../../environment/client/environment-client.ts';
import type { McpEnvironmentClient } from '../../environment/client/mcp-environment-client.ts';
import { type MountedEndpoint, mountEndpoint } from '../../environment/server/http/mounted-endpoint.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../../support/http/api/body.ts';
import { MESSAGE_USER_TOOL } from '../session/user/message-user.ts';
import { SeatServer, type SeatServerParts } from './seat-server.ts';

/** Most MCP sessions of one seat. A new one replaces the one that was idle longest. */
const MAX_MCP_SESSIONS = 100;
/** Milliseconds for the environment to list its tools and resources after setup. */
const READ_LISTS_MS = 60_000;

export interface SeatEndpointOptions extends Pick<SeatServerParts, 'call' | 'submit' | 'onListed'> {
  /** Client of the environment after its setup. */
  readonly client: McpEnvironmentClient;
  readonly setup: SetupResult;
  /** True if the scenario has a simulated user. The agent talks to it with `message_user`. */
  readonly hasUser: boolean;
  /** True if the agent may end the run with `submit_answer`. */
  readonly hasAnswerTool: boolean;
  /** Milliseconds until an unused MCP session ends. */
  readonly idleTimeoutMs: number;
  report(line: string): void;
}

/** The MCP server of a seat after setup. The caller must close its endpoint. */
export interface SeatEndpoint {
  readonly endpoint: MountedEndpoint;
  /** Tools that the scenario allows. */
  readonly tools: readonly AgentToolEntry[];
}

/** @throws BoundaryError `environment`; `setup` if the environment has a tool with a name that the seat uses. */
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
