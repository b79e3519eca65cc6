import { ApiError } from '../../../contract/errors.ts';
import { LiveSessions } from '../../../rollout/live-sessions.ts';
import { countText } from '../../../support/text/figures.ts';
import { OpenEnvError } from './openenv-error.ts';
import { OpenEnvSession, type ServedEnvironment } from './session.ts';

export interface OpenEnvSessionsOptions {
  readonly served: ServedEnvironment;
  /** Most sessions that may be open at a time, of sockets and of `/mcp` together. */
  readonly maxSessions: number;
  /** Milliseconds without a message after which a session ends. */
  readonly sessionTtlMs: number;
  /** Milliseconds between two checks for idle sessions. */
  readonly lookEveryMs: number;
}

/** The sessions of a server. The creator closes it. */
export class OpenEnvSessions {
  readonly maxSessions: number;
  readonly #options: OpenEnvSessionsOptions;
  readonly #live: LiveSessions<OpenEnvSession>;
  /** Ids of the sessions without a socket, which clients name by their id. */
  readonly #named = new Set<string>();

  constructor(options: OpenEnvSessionsOptions) {
    const { maxSessions, sessionTtlMs, lookEveryMs } = options;
    this.#options = options;
    this.maxSessions = maxSessions;
    this.#live = new LiveSessions({
      idOf: ({ id }) => id,
      expire: (session) => void (session.idleMs >= sessionTtlMs && session.end('expired')),
      lookEveryMs,
    });
  }

  get size(): number {
    return this.#live.size;
  }

  /** @param isNamed whether clients find it by its id. @throws OpenEnvError CAPACITY_REACHED */
  open(isNamed = false): OpenEnvSession {
    const { size, maxSessions } = this;
    if (size >= maxSessions) {
      const message = `The server holds ${countText(size, 'session')}, which is its limit: close some, or start it with a higher --max-sessions.`;
      throw new OpenEnvError('CAPACITY_REACHED', message, { active_sessions: size, max_sessions: maxSessions });
    }
    const session = new OpenEnvSession(this.#options.served);
    this.#live.add(session);
    if (isNamed) this.#named.add(session.id);
    session.ended.addEventListener('abort', () => this.#forget(session), { once: true });
    return session;
  }

  /** Runs `work` in a session that exists for this work only. @throws as `open`. */
  async once<T>(work: (session: OpenEnvSession) => Promise<T>): Promise<T> {
    const session = this.open();
    try {
      return await work(session);
    } finally {
      await session.end();
    }
  }

  find(id: string): OpenEnvSession | undefined {
    return this.#named.has(id) ? this.#live.find(id) : undefined;
  }

  /** Ends all sessions. The caller ends their episodes before. Never rejects. */
  async close(): Promise<void> {
    const cause = new ApiError('shutting_down', 'The server was shut down');
    await this.#live.close(cause, () => Promise.all(this.#live.all().map((session) => session.end())));
  }

  #forget(session: OpenEnvSession): void {
    this.#live.drop(session.id);
    this.#named.delete(session.id);
  }
}
