import type { ServerResponse } from 'node:http';
import { messageOf } from '../../../contract/errors.ts';
import { type Loop, startLoop } from '../../../support/runtime/loop.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import type { Era, HostedSession, SessionHost } from '../session-host.ts';
import { HttpTransport } from './http-transport.ts';
import { SseTransport } from './sse-transport.ts';

export interface SessionLimits {
  readonly maxSessions: number;
  /** Milliseconds without a request or a stream after which a session ends. */
  readonly idleTimeoutMs: number;
  /** The current time in milliseconds. Only tests set it. */
  readonly now?: () => number;
  /** Milliseconds that a request continues after its client lost the stream, so that it can reconnect. */
  readonly resumeWindowMs?: number | undefined;
}

/** A session with its transport and its owner. */
interface SessionEntry<SessionTransport> {
  readonly session: HostedSession;
  readonly transport: SessionTransport;
  /** The owner. Other callers do not find the session. */
  readonly caller: string;
}

/** A session over Streamable HTTP. */
export type HttpSession = SessionEntry<HttpTransport>;
export type SseSession = SessionEntry<SseTransport>;

const RETRY_AFTER_SECONDS = '5';

/**
 * The sessions of an HTTP server by their random ids, with a maximum number and an idle limit. The caller that makes it
 * has to stop it.
 */
export class Sessions {
  readonly host: SessionHost;
  readonly #limits: SessionLimits;
  readonly #now: () => number;
  readonly #byId = new Map<string, HttpSession | SseSession>();
  /** On MCP 2026-07-28: the session id of each caller that names no session. */
  readonly #ofCaller = new Map<string, string>();
  /** On MCP 2026-07-28: the `requestState` that the retry of a setup has to send, by session id. */
  readonly #setupStates = new Map<string, string>();
  readonly #sweep: Loop;

  constructor(host: SessionHost, limits: SessionLimits) {
    this.host = host;
    this.#limits = limits;
    this.#now = limits.now ?? Date.now;
    this.#sweep = startLoop({
      look: () => this.expire(),
      restMs: Math.min(limits.idleTimeoutMs / 2, PERIODS_MS.idleConnections),
      onError: (error) => host.report(`Idle sessions could not be ended: ${messageOf(error)}`),
    });
  }

  /** @throws Refusal 503 if all sessions are in use; any error of the author's constructor or factory. */
  open(era: Era, caller: string, hasHandle = false): HttpSession {
    this.#makeRoom();
    const session = this.host.openSession(era, hasHandle);
    const { resumeWindowMs } = this.#limits;
    const transport = new HttpTransport(session.id, { now: this.#now, resumeWindowMs });
    return this.#carry({ session, transport, caller });
  }

  /** Opens a session on an event stream. Its first event contains the address for messages. @throws as `open`. */
  openSse(caller: string, response: ServerResponse, toMessagesAddress: (sessionId: string) => string): SseSession {
    this.#makeRoom();
    const session = this.host.openSession('legacy');
    const transport = new SseTransport(session.id, response, toMessagesAddress(session.id), this.#now);
    return this.#carry({ session, transport, caller });
  }

  /** Finds a session. Undefined if the id is unknown, has ended, or belongs to another caller, era or transport. */
  find(id: string, era: Era, caller: string): HttpSession | undefined {
    const found = this.#byId.get(id);
    if (found === undefined || !isStreamable(found)) return undefined;
    return found.session.era === era && found.caller === caller ? found : undefined;
  }

  /**
   * Finds a session of the deprecated transport. Undefined if the id is unknown, has ended, or belongs to another
   * caller or transport.
   */
  findSse(id: string, caller: string): SseSession | undefined {
    const found = this.#byId.get(id);
    return found !== undefined && !isStreamable(found) && found.caller === caller ? found : undefined;
  }

  /** The session of a caller that names none, on the revision without sessions. @throws as `open`. */
  ofCaller(caller: string): HttpSession {
    const known = this.#byId.get(this.#ofCaller.get(caller) ?? '');
    if (known !== undefined && isStreamable(known)) return known;
    const opened = this.open('modern', caller);
    this.#ofCaller.set(caller, opened.session.id);
    return opened;
  }

  /**
   * The session whose setup waits for a retry with this `requestState`. Undefined if none does, or if it belongs to
   * another caller.
   */
  waitingFor(requestState: string, caller: string): HttpSession | undefined {
    for (const [id, state] of this.#setupStates) if (state === requestState) return this.find(id, 'modern', caller);
    return undefined;
  }

  /** Stores the `requestState` that the retry of the session's setup has to send. Undefined removes it. */
  setWaiting({ id }: HostedSession, requestState: string | undefined): void {
    if (requestState !== undefined && this.#byId.has(id)) this.#setupStates.set(id, requestState);
    else this.#setupStates.delete(id);
  }

  /** Ends the sessions that were idle for too long. */
  expire(): void {
    const limit = this.#now() - this.#limits.idleTimeoutMs;
    for (const { session, transport } of this.#byId.values()) {
      if (!transport.isBusy && transport.lastActiveAt <= limit) void session.close();
    }
  }

  stop(): void {
    void this.#sweep.stop();
  }

  #carry<Opened extends HttpSession | SseSession>(opened: Opened): Opened {
    const { session, transport } = opened;
    this.#byId.set(session.id, opened);
    const { onclose } = session;
    session.onclose = () => {
      this.#byId.delete(session.id);
      this.#setupStates.delete(session.id);
      onclose?.();
    };
    // The session receives messages as soon as this returns, because the start of this transport does nothing.
    session.connect(transport).catch((error: unknown) => this.host.report(String(error)));
    return opened;
  }

  #makeRoom(): void {
    if (this.#byId.size < this.#limits.maxSessions) return;
    const idle = [...this.#byId.values()].filter(({ transport }) => !transport.isBusy);
    const [oldest] = idle.sort((a, b) => a.transport.lastActiveAt - b.transport.lastActiveAt);
    if (oldest === undefined) {
      throw new Refusal(
        503,
        RPC_CODE.refused,
        `All ${this.#limits.maxSessions} sessions of this server are in use: try again later, or end a session`,
        {
          headers: { 'retry-after': RETRY_AFTER_SECONDS },
        },
      );
    }
    this.#byId.delete(oldest.session.id);
    void oldest.session.close();
  }
}

function isStreamable(opened: HttpSession | SseSession): opened is HttpSession {
  return opened.transport instanceof HttpTransport;
}
