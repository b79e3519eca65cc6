import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { META, SCENARIOS_URI } from '../contract/names.ts';
import type { RequestId } from '../mcp/json-rpc.ts';
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

/** A request that is repeated to a new process before it serves a session. Its id is not the client's. */
export interface Repeated {
  readonly method: string;
  readonly params: JsonObject;
}

/** Methods whose first call runs the initialize hook on 2026-07-28. */
const HOOKED = new Set(['tools/call', 'prompts/get', 'resources/read']);
const OPEN_END = 'subscriptions/listen';

/**
 * Remembers what a new process needs to take over a session, and what is lost with the old process. It learns from the
 * requests that were answered.
 */
export class SessionMemory {
  /** The parameters of `initialize`, once it was answered. */
  handshake: JsonObject | undefined;
  /** The revision that was agreed on. */
  protocol: string | undefined;
  /** True once the client has said `notifications/initialized`. */
  isReady = false;
  /** The scenario that is active, as far as requests tell. */
  scenario: string | undefined;
  /** Streams of 2026-07-28 that wait for changes, with what they were acknowledged for. */
  readonly listening = new Map<RequestId, { readonly request: Request; filter: Params }>();

  #level: string | undefined;
  readonly #subscriptions = new Set<string>();
  #hookMeta: Params | undefined;
  #hasRunHook = false;
  #isUsed = false;

  /** True once the session may have put something into the fields of its instance. */
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

  /** Requests for a new process after its handshake, in this order. */
  toRepeat(): Repeated[] {
    const level = this.#level === undefined ? [] : [{ method: 'logging/setLevel', params: { level: this.#level } }];
    const subscriptions = [...this.#subscriptions].map((uri) => ({ method: 'resources/subscribe', params: { uri } }));
    return [...level, ...subscriptions];
  }

  /** Notifications for the client when a new instance serves it: every list may have changed. */
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

  /** A stream waits for what the notification says. @returns false where the client has been told before. */
  acknowledge(message: Notification): boolean {
    const stream = this.listening.get(metaOf(message)[SUBSCRIPTION_ID] as RequestId);
    if (stream === undefined) return true;
    const isFirst = Object.keys(stream.filter).length === 0;
    stream.filter = { ...(paramsOf(message).notifications as Params) };
    return isFirst;
  }

  /** A new instance serves the session. @returns what was lost. */
  forgetInstance(): { readonly isUsed: boolean; readonly scenario: string | undefined } {
    const lost = { isUsed: this.#isUsed, scenario: this.scenario };
    this.scenario = undefined;
    this.#isUsed = false;
    this.#hasRunHook = false;
    return lost;
  }

  /**
   * On 2026-07-28 the initialize hook of a new instance runs with the `_meta` of whatever is asked next: what the first
   * request of the session said, of the display for example, is added to it.
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

/** `_meta` without what belongs to one request: its token, its audience, what the protocol says in it. */
function ownMetaOf(request: Request): Params {
  const isOwn = (key: string) =>
    key !== 'progressToken' &&
    !key.startsWith('io.modelcontextprotocol/') &&
    !Object.values<string>(META).includes(key);
  return Object.fromEntries(Object.entries(metaOf(request)).filter(([key]) => isOwn(key)));
}

/** The short names in an answer to reading `svc://scenarios`. */
export function scenarioNames(reply: Reply): unknown[] {
  const contents = resultOf(reply)?.contents;
  const [first] = Array.isArray(contents) ? contents : [];
  const text: unknown = isJsonObject(first) ? first.text : undefined;
  const list: unknown = typeof text === 'string' ? JSON.parse(text) : undefined;
  const scenarios = isJsonObject(list) && Array.isArray(list.scenarios) ? list.scenarios : [];
  return scenarios.map((scenario) => (isJsonObject(scenario) ? scenario.short_name : undefined));
}
