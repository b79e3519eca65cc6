import type { ServerResponse } from 'node:http';
import { Refusal, RPC_CODE } from '../refusal.ts';
import type { Era, HostedSession, SessionHost } from '../session-host.ts';
import { HttpTransport } from './http-transport.ts';
import { SseTransport } from './sse-transport.ts';

export interface SessionLimits {
  readonly maxSessions: number;
  /** Without a request or a stream for this long, a session is ended. */
  readonly idleTimeoutMs: number;
  /** Milliseconds; passed in by tests. */
  readonly now?: () => number;
  /** How long a request goes on whose client has lost its stream and could come back for it. */
  readonly resumeWindowMs?: number | undefined;
}

/** A session and what carries it. */
interface Carried<SessionTransport> {
  readonly session: HostedSession;
  readonly transport: SessionTransport;
  /** Its owner. Other callers do not find it. */
  readonly caller: string;
}

/** A session over Streamable HTTP, or over the deprecated pair of addresses. */
export type HttpSession = Carried<HttpTransport>;
export type SseSession = Carried<SseTransport>;

const RETRY_AFTER_SECONDS = '5';
const LONGEST_SWEEP_MS = 60_000;

/** The sessions of an HTTP server by their unguessable ids, with a cap and an idle expiry. Whoever made it stops it. */
export class Sessions {
  readonly host: SessionHost;
  readonly #limits: SessionLimits;
  readonly #now: () => number;
  readonly #byId = new Map<string, HttpSession | SseSession>();
  /** On 2026-07-28: the session of a caller that names none. */
  readonly #ofCaller = new Map<string, string>();
  /** On 2026-07-28: what the retry of a setup has to bring that waits for answers of its client. By session. */
  readonly #setupStates = new Map<string, string>();
  readonly #sweep: NodeJS.Timeout;

  constructor(host: SessionHost, limits: SessionLimits) {
    this.host = host;
    this.#limits = limits;
    this.#now = limits.now ?? Date.now;
    this.#sweep = setInterval(() => this.expire(), Math.min(limits.idleTimeoutMs / 2, LONGEST_SWEEP_MS));
    this.#sweep.unref();
  }

  /** @throws Refusal 503 at the cap, when every session is in use; what the author's constructor or factory throws. */
  open(era: Era, caller: string, hasHandle = false): HttpSession {
    this.#makeRoom();
    const session = this.host.openSession(era, hasHandle);
    const { resumeWindowMs } = this.#limits;
    const transport = new HttpTransport(session.id, { now: this.#now, resumeWindowMs });
    return this.#carry({ session, transport, caller });
  }

  /** Opens a session on an event stream that begins with where to post messages to. @throws as `open`. */
  openSse(caller: string, response: ServerResponse, toMessagesAddress: (sessionId: string) => string): SseSession {
    this.#makeRoom();
    const session = this.host.openSession('legacy');
    const transport = new SseTransport(session.id, response, toMessagesAddress(session.id), this.#now);
    return this.#carry({ session, transport, caller });
  }

  /** Undefined for an id that is unknown, has ended, or belongs to another caller or era. */
  find(id: string, era: Era, caller: string): HttpSession | undefined {
    const found = this.#byId.get(id);
    if (found === undefined || !isStreamable(found)) return undefined;
    return found.session.era === era && found.caller === caller ? found : undefined;
  }

  /** Undefined for an id that is unknown, has ended, belongs to another caller, or to a session of the other transport. */
  findSse(id: string, caller: string): SseSession | undefined {
    const found = this.#byId.get(id);
    return found !== undefined && !isStreamable(found) && found.caller === caller ? found : undefined;
  }

  /** The one session of a caller that names none, on the revision without sessions. @throws as `open`. */
  ofCaller(caller: string): HttpSession {
    const known = this.#byId.get(this.#ofCaller.get(caller) ?? '');
    if (known !== undefined && isStreamable(known)) return known;
    const opened = this.open('modern', caller);
    this.#ofCaller.set(caller, opened.session.id);
    return opened;
  }

  /**
   * The session whose setup waits for a retry with this `requestState`. Undefined for a state that none waits for, and
   * for one of another caller.
   */
  waitingFor(requestState: string, caller: string): HttpSession | undefined {
    for (const [id, state] of this.#setupStates) if (state === requestState) return this.find(id, 'modern', caller);
    return undefined;
  }

  /** Notes what the retry of the session's setup has to bring; undefined where it waits for none. */
  setWaiting({ id }: HostedSession, requestState: string | undefined): void {
    if (requestState !== undefined && this.#byId.has(id)) this.#setupStates.set(id, requestState);
    else this.#setupStates.delete(id);
  }

  /** Ends the sessions that have been idle for too long. */
  expire(): void {
    const limit = this.#now() - this.#limits.idleTimeoutMs;
    for (const { session, transport } of this.#byId.values()) {
      if (!transport.isBusy && transport.lastActiveAt <= limit) void session.close();
    }
  }

  stop(): void {
    clearInterval(this.#sweep);
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
    // It listens when this returns: connecting waits for the start of the transport alone, which does nothing.
    session.connect(transport).catch((error: unknown) => this.host.report(String(error)));
    return opened;
  }

  #makeRoom(): void {
    if (this.#byId.size < this.#limits.maxSessions) return;
    const idle = [...this.#byId.values()].filter(({ transport }) => !transport.isBusy);
    const [oldest] = idle.sort((a, b) => a.transport.lastActiveAt - b.transport.lastActiveAt);
    if (oldest === undefined) {
      throw new Refusal(503, RPC_CODE.refused, `All ${this.#limits.maxSessions} sessions of this server are in use`, {
        headers: { 'retry-after': RETRY_AFTER_SECONDS },
      });
    }
    this.#byId.delete(oldest.session.id);
    void oldest.session.close();
  }
}

function isStreamable(opened: HttpSession | SseSession): opened is HttpSession {
  return opened.transport instanceof HttpTransport;
}
