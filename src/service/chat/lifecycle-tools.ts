import type { Logger } from 'pino';
import { z } from 'zod';
import { ApiError } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import {
  LIFECYCLE_TOOLS,
  type LifecycleResult,
  type LifecycleToolEntry,
  type LifecycleToolName,
  type TurnAnswer,
} from '../../contract/lifecycle.ts';
import type { PromptMessage } from '../../contract/scenario.ts';
import type { EventBody } from '../../contract/service/event.ts';
import { toApiError } from '../../support/http/api/errors.ts';
import { parseBody } from '../../support/http/api/validation.ts';
import { preview } from '../../support/schema/json-schema.ts';
import { type ChatSession, TURN_LIMIT_MS } from './chat-session.ts';
import { logFailure } from './log-failure.ts';
import type { Scenarios } from './scenarios.ts';
import type { SessionRegistry } from './session-registry.ts';
import { toFinishedSession } from './session-routes.ts';
import { toSvc } from './svc.ts';

export interface LifecycleCall {
  /** Account that owns the sessions. */
  readonly account: string;
  readonly requestId: string;
  /** Aborted when the caller cancels the call. That aborts its turn, too. */
  readonly signal: AbortSignal;
  /** Gets the events of the turn, which keeps the call alive. */
  readonly onEvent?: (event: EventBody) => void;
}

export interface LifecycleToolsOptions {
  readonly scenarios: Scenarios;
  readonly registry: SessionRegistry;
  readonly logger: Logger;
  toTraceUrl(traceId: string): string;
  readonly limitMs?: { readonly plain: number; readonly streamed: number } | undefined;
}

/** Four tools that control sessions, for any client that can call tools: over plain HTTP and over MCP. */
export class LifecycleTools {
  readonly #options: LifecycleToolsOptions;

  constructor(options: LifecycleToolsOptions) {
    this.#options = options;
  }

  /** Lists the tools for `GET /v1/lifecycle-tools`, with their schemas under both spellings. */
  list(): readonly LifecycleToolEntry[] {
    return ENTRIES;
  }

  has(name: string): name is LifecycleToolName {
    return Object.hasOwn(LIFECYCLE_TOOLS, name);
  }

  /** Calls a tool. An error becomes a result whose text says what was wrong. */
  async call(name: LifecycleToolName, args: JsonObject, call: LifecycleCall): Promise<LifecycleResult> {
    try {
      return toResult(await this.#run(name, args, call), false);
    } catch (thrown) {
      call.signal.throwIfAborted();
      const error = toApiError(thrown, call.requestId);
      // Logged first, since the message may refer to the log.
      logFailure(this.#options.logger, error, { requestId: call.requestId, tool: name });
      return { ...toResult(error.toBody(), true), content: [{ type: 'text', text: error.message }] };
    }
  }

  async #run(name: LifecycleToolName, args: JsonObject, call: LifecycleCall): Promise<object> {
    const { scenarios, registry, toTraceUrl } = this.#options;
    const { account } = call;
    refuseUnknown(name, args);
    switch (name) {
      case 'scenario_list':
        return { scenarios: await scenarios.list() };
      case 'scenario_start':
        return await this.#start(args, call);
      case 'scenario_send': {
        const { message, ...ids } = read('scenario_send', args);
        const session = await registry.find(account, sessionIdOf(ids));
        return await this.#turn(session, [{ role: 'user', content: message }], call);
      }
      case 'scenario_finish': {
        const { answer, ...ids } = read('scenario_finish', args);
        return toFinishedSession(
          await registry.finish(account, sessionIdOf(ids), answer as Json | undefined),
          toTraceUrl,
        );
      }
    }
  }

  async #start(args: JsonObject, call: LifecycleCall): Promise<TurnAnswer> {
    const { scenario, scenario_args, message, model, max_steps } = read('scenario_start', args);
    const session = await this.#options.registry.start({
      account: call.account,
      scenario,
      args: scenario_args as JsonObject, // The arguments were parsed from JSON.
      model,
      maxSteps: max_steps,
      sampling: {},
    });
    return await this.#turn(session, message === undefined ? [] : [{ role: 'user', content: message }], call);
  }

  async #turn(
    session: ChatSession,
    messages: readonly PromptMessage[],
    { signal, onEvent }: LifecycleCall,
  ): Promise<TurnAnswer> {
    const { toTraceUrl, limitMs: limits = TURN_LIMIT_MS } = this.#options;
    const options = onEvent ? { signal, onEvent, limitMs: limits.streamed } : { signal, limitMs: limits.plain };
    const { answer, toolCalls } = await session.turn(messages, options);
    const tool_calls = toolCalls.map(({ id, name, arguments: called }) => ({ id, name, arguments: called }));
    return { answer, tool_calls, svc: toSvc(session, toTraceUrl) };
  }
}

const ENTRIES: readonly LifecycleToolEntry[] = Object.entries(LIFECYCLE_TOOLS).map(([name, { description, args }]) => {
  const schema = z.toJSONSchema(args, { io: 'input', unrepresentable: 'any' });
  return { name, description, inputSchema: schema, input_schema: schema };
});

type Args<Name extends LifecycleToolName> = z.output<(typeof LIFECYCLE_TOOLS)[Name]['args']>;

function read<Name extends LifecycleToolName>(name: Name, args: JsonObject): Args<Name> {
  return parseBody(LIFECYCLE_TOOLS[name].args, args) as Args<Name>; // The schema of this tool was checked.
}

/** Rejects unknown arguments by name (contract section 0). */
function refuseUnknown(name: LifecycleToolName, args: JsonObject): void {
  const known = Object.keys(LIFECYCLE_TOOLS[name].args.shape);
  const unknown = Object.keys(args).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const takes = known.length === 0 ? 'it takes none' : `it takes ${known.join(', ')}`;
  throw new ApiError('invalid_parameter', `${name} has no argument ${preview(unknown)}; ${takes}.`, { param: unknown });
}

interface SessionIds {
  readonly session_id?: string | undefined;
  readonly thread_id?: string | undefined;
  readonly conversation_id?: string | undefined;
}

function sessionIdOf(ids: SessionIds): string {
  const [first, ...others] = [ids.session_id, ids.thread_id, ids.conversation_id].filter((id) => id !== undefined);
  if (first === undefined) {
    const message =
      'session_id is required: the one that scenario_start gave (thread_id and conversation_id are taken too).';
    throw new ApiError('missing_required_parameter', message, { param: 'session_id' });
  }
  if (others.every((id) => id === first)) return first;
  const message = 'session_id, thread_id and conversation_id have to name one session.';
  throw new ApiError('invalid_parameter', message, { param: 'session_id' });
}

function toResult(value: object, isError: boolean): LifecycleResult {
  const structuredContent = value as JsonObject; // Values of our schemas are JSON.
  return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent, isError };
}
