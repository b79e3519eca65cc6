import { setImmediate } from 'node:timers/promises';
import type { ToolCall } from '../../../src/contract/chat.ts';
import { BoundaryError } from '../../../src/contract/errors.ts';
import type { Json, JsonObject } from '../../../src/contract/json.ts';
import type { Evaluation, SetupResult } from '../../../src/contract/scenario.ts';
import type { EventBody, EventOf, EventType } from '../../../src/contract/service/event.ts';
import type {
  AgentToolEntry,
  EnvironmentClient,
  ToolResult,
} from '../../../src/environment/client/environment-client.ts';
import { NO_USAGE } from '../../../src/models/dialects/model-output.ts';
import type { ChatModel, ModelRequest, ModelResponse } from '../../../src/models/gateway/chat-model.ts';
import type { RunOptions } from '../../../src/rollout/session/run.ts';
import { EventRecorder } from '../../../src/store/traces/event-recorder.ts';
import { newTrace } from '../../store/traces/events.ts';

/** A response that says something. */
export function says(content: string | null, finishReason: ModelResponse['finishReason'] = 'stop'): ModelResponse {
  return toResponse({ content, calls: [], finishReason });
}

let callIds = 0;

export function call(name: string, args: JsonObject = {}): ToolCall {
  return { id: `call_${++callIds}`, name, arguments: args, raw_arguments: null };
}

export function malformedCall(name: string, raw: string): ToolCall {
  return { id: `call_${++callIds}`, name, arguments: {}, raw_arguments: raw };
}

/** A response that calls tools. */
export function calls(...toolCalls: readonly ToolCall[]): ModelResponse {
  return toResponse({ content: null, calls: toolCalls, finishReason: 'tool_calls' });
}

export function toResponse(parts: {
  readonly content: string | null;
  readonly calls: readonly ToolCall[];
  readonly finishReason: ModelResponse['finishReason'];
}): ModelResponse {
  return {
    message: { role: 'assistant', content: parts.content, reasoning: null, tool_calls: [...parts.calls] },
    finishReason: parts.finishReason,
    usage: NO_USAGE,
    retries: 0,
    tokenIds: null,
    logprobs: null,
  };
}

export type Line = ModelResponse | Error | ((request: ModelRequest) => ModelResponse | Promise<ModelResponse>);

export interface ScriptedModel extends ChatModel {
  /** What it was asked, request by request. */
  readonly requests: ModelRequest[];
}

/** A model that says its lines one by one, and fails when it is asked for more. */
export function scripted(...lines: readonly Line[]): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    name: 'scripted',
    requests,
    async respond(request) {
      const line = lines[requests.length];
      requests.push(request);
      if (line === undefined) throw new Error(`The script has no line ${requests.length}`);
      if (line instanceof Error) throw line;
      return typeof line === 'function' ? await line(request) : line;
    },
  };
}

/** A recorder that keeps its events in a list. */
export class ListRecorder extends EventRecorder {
  readonly events: EventBody[];
  readonly #writes: { failure: Error | undefined; held: Promise<void> };

  constructor() {
    const events: EventBody[] = [];
    const writes: { failure: Error | undefined; held: Promise<void> } = { failure: undefined, held: Promise.resolve() };
    const check = () => {
      if (writes.failure !== undefined) throw writes.failure;
    };
    super({
      async append(body) {
        events.push(structuredClone(body));
        await writes.held;
        // A write takes a while, and may fail by then.
        await setImmediate();
        check();
      },
      async toStored(value) {
        check();
        return value;
      },
    });
    this.events = events;
    this.#writes = writes;
  }

  of<Type extends EventType>(type: Type): EventOf<Type>[] {
    return this.events.filter(
      (event): event is Extract<EventBody, { type: Type }> => event.type === type,
    ) as EventOf<Type>[];
  }

  /** From now on every write fails with this; with undefined, none does. */
  failWith(error: Error | undefined): void {
    this.#writes.failure = error;
  }

  /** From now on no write ends before this has. */
  holdUntil(held: Promise<void>): void {
    this.#writes.held = held;
  }
}

export function listRecorder(): ListRecorder {
  return new ListRecorder();
}

type Signalled<T> = (signal: AbortSignal) => T | Promise<T>;

/** An environment written by hand, so that each of its parts can be made to fail. Its state is a counter. */
export interface CounterClient extends EnvironmentClient {
  readonly count: number;
  readonly isClosed: boolean;
  /** What was asked of it, in order. */
  readonly asked: string[];
}

export interface CounterParts {
  readonly setup?: Partial<SetupResult>;
  onSetup?: Signalled<void>;
  onCall?(
    name: string,
    args: JsonObject,
    signal: AbortSignal,
  ): ToolResult | undefined | Promise<ToolResult | undefined>;
  onEvaluate?(answer: Json, signal: AbortSignal): Partial<Evaluation> | Promise<Partial<Evaluation>>;
  solution?: EnvironmentClient['solution'];
}

export function textResult(text: string, isError = false): ToolResult {
  return { content: [{ type: 'text', text }], structured_content: null, is_error: isError };
}

export function counterClient(parts: CounterParts = {}): CounterClient {
  let count = 0;
  let isClosed = false;
  const asked: string[] = [];
  const signalOf = (options: { signal?: AbortSignal } | undefined) => options?.signal ?? new AbortController().signal;
  return {
    name: 'counter',
    version: '1.2.3',
    protocol: '2025-11-25',
    asked,
    get count() {
      return count;
    },
    get isClosed() {
      return isClosed;
    },
    scenarios: async () => [],
    async setup(scenario, _args, options) {
      asked.push('setup');
      await parts.onSetup?.(signalOf(options));
      const prompt = [{ role: 'user' as const, content: 'Count to two.' }];
      return { scenario, prompt, system: 'You count.', tools: null, answer_schema: null, ...parts.setup };
    },
    async tools() {
      return [entry('increment'), entry('read', true)];
    },
    async call(name, args, options) {
      asked.push(name);
      const result = await parts.onCall?.(name, args, signalOf(options));
      if (result !== undefined) return result;
      if (name === 'increment') count += 1;
      else if (name !== 'read') return textResult(`Unknown tool: ${name}`, true);
      return { ...textResult(String(count)), structured_content: { count } };
    },
    async evaluate(_scenario, answer, options) {
      asked.push(`evaluate ${JSON.stringify(answer)}`);
      const evaluation = await parts.onEvaluate?.(answer as Json, signalOf(options));
      const reward = count === 2 ? 1 : 0;
      return { reward, done: true, content: null, info: {}, subscores: [], is_error: false, ...evaluation };
    },
    solution:
      parts.solution ??
      (async () => {
        throw new BoundaryError('environment', 'environment_failed', 'The scenario has no solution');
      }),
    async close() {
      asked.push('close');
      isClosed = true;
    },
  };
}

function entry(name: string, readOnlyHint = false): AgentToolEntry {
  return {
    name,
    title: null,
    description: `${name} it`,
    input_schema: { type: 'object' },
    output_schema: null,
    annotations: { readOnlyHint },
  };
}

export function runRequest(fields: Partial<EventOf<'run.queued'>> = {}): EventOf<'run.queued'> {
  return {
    type: 'run.queued',
    previous_end: null,
    ...newTrace({ model: 'scripted', max_steps: 10, timeout_seconds: 60 }).queued,
    ...fields,
  };
}

export function runOptions(
  client: EnvironmentClient,
  model: ChatModel,
  recorder: EventRecorder,
  fields: Partial<RunOptions> = {},
): RunOptions {
  return {
    request: runRequest(),
    worker: 'worker-1',
    connect: async () => client,
    createModel: () => model,
    recorder,
    signal: new AbortController().signal,
    ...fields,
  };
}

/** Never settles by itself; rejects with the reason when the signal is aborted. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Never settles, whatever the signal says. */
export function forever(): Promise<never> {
  return new Promise(() => {});
}

/** A promise that a test settles. */
export function gate<T = void>(): { readonly passed: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => {};
  const passed = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { passed, open: (value) => open(value) };
}
