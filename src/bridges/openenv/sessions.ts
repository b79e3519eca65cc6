import { OpenEnvError } from './openenv-error.ts';
import { OpenEnvSession, type ServedEnvironment } from './session.ts';

export interface OpenEnvSessionsOptions {
  readonly served: ServedEnvironment;
  /** Open at a time: sockets, and sessions of `/mcp`. */
  readonly maxSessions: number;
  /** Milliseconds without a message after which a session is ended. */
  readonly sessionTtlMs: number;
  /** Milliseconds between two looks at who is idle. */
  readonly lookEveryMs: number;
}

/** The sessions of a server. Whoever made it closes it. */
export class OpenEnvSessions {
  readonly maxSessions: number;
  readonly #options: OpenEnvSessionsOptions;
  readonly #open = new Set<OpenEnvSession>();
  /** Those that clients find by their ids: they have no socket. */
  readonly #byId = new Map<string, OpenEnvSession>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: OpenEnvSessionsOptions) {
    this.#options = options;
    this.maxSessions = options.maxSessions;
    this.#timer = setInterval(() => this.#expire(), options.lookEveryMs).unref();
  }

  get size(): number {
    return this.#open.size;
  }

  /** @param isNamed whether clients find it by its id. @throws OpenEnvError CAPACITY_REACHED */
  open(isNamed = false): OpenEnvSession {
    const { size, maxSessions } = this;
    if (size >= maxSessions) {
      const message = `The server holds ${size === 1 ? '1 session' : `${size} sessions`}, which is its limit: close some, or start it with a higher --max-sessions.`;
      throw new OpenEnvError('CAPACITY_REACHED', message, { active_sessions: size, max_sessions: maxSessions });
    }
    const session = new OpenEnvSession(this.#options.served);
    this.#open.add(session);
    if (isNamed) this.#byId.set(session.id, session);
    session.ended.addEventListener('abort', () => this.#forget(session), { once: true });
    return session;
  }

  /** Runs some work in a session of its own, that ends with it. @throws as `open`. */
  async once<T>(work: (session: OpenEnvSession) => Promise<T>): Promise<T> {
    const session = this.open();
    try {
      return await work(session);
    } finally {
      await session.end();
    }
  }

  find(id: string): OpenEnvSession | undefined {
    return this.#byId.get(id);
  }

  /** Ends all. Episodes are ended before by their owner. Never rejects. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#open].map((session) => session.end()));
  }

  #expire(): void {
    for (const session of this.#open) {
      if (session.idleMs >= this.#options.sessionTtlMs) void session.end('expired');
    }
  }

  #forget(session: OpenEnvSession): void {
    this.#open.delete(session);
    this.#byId.delete(session.id);
  }
}
