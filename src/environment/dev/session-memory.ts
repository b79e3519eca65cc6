import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import { META, SCENARIOS_URI } from '../../contract/names.ts';
import type { RequestId } from '../server/json-rpc.ts';
import {
  LISTS,
  metaOf,
  type Notification,
  type Params,
  paramsOf,
  type Reply,
  type Request,
  resultOf,
  SUBSCRIPTION_ID,
} from './messages.ts';

/** A request that is sent again to a new process before it serves a session. It has an id of its own. */
export interface Repeated {
  readonly method: string;
  readonly params: JsonObject;
}

/** Methods whose first call runs the initialize hook on MCP 2026-07-28. */
const HOOKED = new Set(['tools/call', 'prompts/get', 'resources/read']);
const OPEN_END = 'subscriptions/listen';

/**
 * Remembers what a new process needs to take over a session, and what is lost with the old one. It learns from answered
 * requests.
 */
export class SessionMemory {
  /** The parameters of `initialize`, set after it was answered. */
  handshake: JsonObject | undefined;
  /** The protocol revision in use. */
  protocol: string | undefined;
  /** True after the client has sent `notifications/initialized`. */
  isReady = false;
  /** The name of the active scenario, as far as the requests show it. */
  scenario: string | undefined;
  /** Streams of MCP 2026-07-28 that wait for changes, with the acknowledged filter. */
  readonly listening = new Map<RequestId, { readonly request: Request; filter: Params }>();

  #level: string | undefined;
  readonly #subscriptions = new Set<string>();
  #hookMeta: Params | undefined;
  #hasRunHook = false;
  #isUsed = false;

  /** True if a request may have changed the fields of the instance. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** Learns from a request that was answered. */
  learn(request: Request, reply: Reply): void {
    const result = resultOf(reply);
    const params = paramsOf(request);
    if (request.method === 'tools/call' && params.name === 'evaluate') this.#forgetEvaluated(params, result);
    if (result === undefined) return;
    if (HOOKED.has(request.method) && params.uri !== SCENARIOS_URI) this.#learnHooked(request, params, result);
    else if (request.method === 'initialize') {
      this.handshake = params as JsonObject;
      this.protocol = typeof result.protocolVersion === 'string' ? result.protocolVersion : undefined;
    } else if (request.method === 'logging/setLevel') this.#level = String(params.level);
    else if (request.method === 'resources/subscribe') this.#subscriptions.add(String(params.uri));
    else if (request.method === 'resources/unsubscribe') this.#subscriptions.delete(String(params.uri));
  }

  /** Requests to send to a new process after its handshake, in this order. */
  toRepeat(): Repeated[] {
    const level = this.#level === undefined ? [] : [{ method: 'logging/setLevel', params: { level: this.#level } }];
    const subscriptions = [...this.#subscriptions].map((uri) => ({ method: 'resources/subscribe', params: { uri } }));
    return [...level, ...subscriptions];
  }

  /** Notifications to the client after a new instance took over, because every list may have changed. */
  toAnnounce(): Notification[] {
    return LISTS.flatMap((list) => {
      const method = `notifications/${list}/list_changed`;
      const listening = [...this.listening].filter(([, { filter }]) => filter[`${list}ListChanged`] === true);
      return [
        ...(this.isReady ? [{ jsonrpc: '2.0' as const, method }] : []),
        ...listening.map(([id]) => ({ jsonrpc: '2.0' as const, method, params: { _meta: { [SUBSCRIPTION_ID]: id } } })),
      ];
    });
  }

  /**
   * Stores the filter of a stream from its acknowledgement. @returns false if the client already has an
   * acknowledgement.
   */
  acknowledge(message: Notification): boolean {
    const stream = this.listening.get(metaOf(message)[SUBSCRIPTION_ID] as RequestId);
    if (stream === undefined) return true;
    const isFirst = Object.keys(stream.filter).length === 0;
    stream.filter = { ...(paramsOf(message).notifications as Params) };
    return isFirst;
  }

  /** Forgets the old instance when a new one takes over. @returns what was lost. */
  forgetInstance(): { readonly isUsed: boolean; readonly scenario: string | undefined } {
    const lost = { isUsed: this.#isUsed, scenario: this.scenario };
    this.scenario = undefined;
    this.#isUsed = false;
    this.#hasRunHook = false;
    return lost;
  }

  /**
   * Adds `_meta` of the session's first request, such as the display size, to a request. On MCP 2026-07-28 the
   * initialize hook of a new instance gets the `_meta` of the next request.
   */
  withHookMeta(request: Request): Request {
    if (this.#hasRunHook || this.#hookMeta === undefined || !HOOKED.has(request.method)) return request;
    return { ...request, params: { ...request.params, _meta: { ...this.#hookMeta, ...metaOf(request) } } };
  }

  static isOpenEnded(request: Request): boolean {
    return request.method === OPEN_END;
  }

  #learnHooked(request: Request, params: Params, result: Params): void {
    this.#isUsed = true;
    this.#hasRunHook = true;
    if (this.handshake === undefined) this.#hookMeta ??= ownMetaOf(request);
    const setup = isJsonObject(result.structuredContent) ? result.structuredContent : {};
    const isSetup = request.method === 'tools/call' && params.name === 'setup' && result.isError !== true;
    if (isSetup && typeof setup.scenario === 'string') this.scenario = setup.scenario;
  }

  #forgetEvaluated(params: Params, result: Params | undefined): void {
    const evaluation = result !== undefined && isJsonObject(result.structuredContent) ? result.structuredContent : {};
    const name = isJsonObject(params.arguments) ? params.arguments.name : undefined;
    if (name === this.scenario || evaluation.done === true) this.scenario = undefined;
  }
}

/**
 * `_meta` without the entries that belong to one request: the progress token, the audience, and those of the protocol.
 */
function ownMetaOf(request: Request): Params {
  const isOwn = (key: string) =>
    key !== 'progressToken' &&
    !key.startsWith('io.modelcontextprotocol/') &&
    !Object.values<string>(META).includes(key);
  return Object.fromEntries(Object.entries(metaOf(request)).filter(([key]) => isOwn(key)));
}

/** The short names of the scenarios in the answer to reading `svc://scenarios`. */
export function scenarioNames(reply: Reply): unknown[] {
  const contents = resultOf(reply)?.contents;
  const [first] = Array.isArray(contents) ? contents : [];
  const text: unknown = isJsonObject(first) ? first.text : undefined;
  const list: unknown = typeof text === 'string' ? JSON.parse(text) : undefined;
  const scenarios = isJsonObject(list) && Array.isArray(list.scenarios) ? list.scenarios : [];
  return scenarios.map((scenario) => (isJsonObject(scenario) ? scenario.short_name : undefined));
}
