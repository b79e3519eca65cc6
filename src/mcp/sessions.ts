import { Refusal, RPC_CODE } from './http-refusal.ts';
import { HttpTransport } from './http-transport.ts';
import type { Era, HostedSession, SessionHost } from './session-host.ts';

export interface SessionLimits {
  readonly maxSessions: number;
  /** Without a request or a stream for this long, a session is ended. */
  readonly idleTimeoutMs: number;
  /** Milliseconds; passed in by tests. */
  readonly now?: () => number;
}

/** A session over HTTP. */
export interface HttpSession {
  readonly session: HostedSession;
  readonly transport: HttpTransport;
  /** Whose it is: nobody else finds it. */
  readonly caller: string;
}

const RETRY_AFTER_SECONDS = '5';
const LONGEST_SWEEP_MS = 60_000;

/** The sessions of an HTTP server by their unguessable ids, with a cap and an idle expiry. Whoever made it stops it. */
export class Sessions {
  readonly #host: SessionHost;
  readonly #limits: SessionLimits;
  readonly #now: () => number;
  readonly #byId = new Map<string, HttpSession>();
  /** On 2026-07-28: the session of a caller that names none. */
  readonly #ofCaller = new Map<string, string>();
  readonly #sweep: NodeJS.Timeout;

  constructor(host: SessionHost, limits: SessionLimits) {
    this.#host = host;
    this.#limits = limits;
    this.#now = limits.now ?? Date.now;
    this.#sweep = setInterval(() => this.expire(), Math.min(limits.idleTimeoutMs / 2, LONGEST_SWEEP_MS));
    this.#sweep.unref();
  }

  /** @throws Refusal 503 at the cap, when every session is in use; what the author's constructor or factory throws. */
  open(era: Era, caller: string, hasHandle = false): HttpSession {
    this.#makeRoom();
    const session = this.#host.openSession(era, hasHandle);
    const transport = new HttpTransport(session.id, this.#now);
    const opened: HttpSession = { session, transport, caller };
    this.#byId.set(session.id, opened);
    const { onclose } = session;
    session.onclose = () => {
      this.#byId.delete(session.id);
      onclose?.();
    };
    // It listens when this returns: connecting waits for the start of the transport alone, which does nothing.
    session.connect(transport).catch((error: unknown) => this.#host.report(String(error)));
    return opened;
  }

  /** Undefined for an id that is unknown, has ended, or belongs to another caller or era. */
  find(id: string, era: Era, caller: string): HttpSession | undefined {
    const found = this.#byId.get(id);
    return found !== undefined && found.session.era === era && found.caller === caller ? found : undefined;
  }

  /** The one session of a caller that names none, on the revision without sessions. @throws as `open`. */
  ofCaller(caller: string): HttpSession {
    const known = this.#byId.get(this.#ofCaller.get(caller) ?? '');
    if (known !== undefined) return known;
    const opened = this.open('modern', caller);
    this.#ofCaller.set(caller, opened.session.id);
    return opened;
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
