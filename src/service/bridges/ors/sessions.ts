import { randomUUID } from 'node:crypto';
import { ApiError } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { RecentSet } from '../../../rollout/seats/model-endpoint/recent-set.ts';
import type { Episode } from '../episode.ts';
import type { EpisodeStart, Episodes } from '../episodes.ts';
import { type CallReply, toCallReply } from './blocks.ts';
import { toResultEvents } from './event-stream.ts';
import { type OrsCall, ResponseCache } from './kept-calls.ts';
import { OrsError } from './ors-error.ts';

/** Number of deleted session ids that are remembered, so that their clients get 410. */
const MAX_DELETED = 10_000;

interface Session {
  /** Name of the environment in the protocol. */
  readonly environment: string;
  readonly episode: Promise<Episode>;
}

/** The sessions of an ORS server, by the ids that their clients send. */
export class OrsSessions {
  readonly #episodes: Episodes;
  readonly #sessions = new Map<string, Session>();
  readonly #calls: ResponseCache;
  readonly #deleted = new RecentSet(MAX_DELETED);
  readonly #maxSessions: number;

  /**
   * @param maxSessions number of ended sessions that are kept if their client does not delete them.
   * @param calls keyed by episode, since a session id may be used again.
   */
  constructor(episodes: Episodes, maxSessions: number, calls = new ResponseCache()) {
    this.#episodes = episodes;
    this.#maxSessions = maxSessions;
    this.#calls = calls;
  }

  /** Returns a new id. It has no session until `create`. */
  newId(): string {
    return randomUUID();
  }

  /**
   * @param environment its name in the protocol.
   * @throws OrsError 400 for a session that exists; ApiError as `Episodes.open`.
   */
  async create(sid: string, environment: string, start: EpisodeStart): Promise<void> {
    if (this.#sessions.has(sid)) throw new OrsError(400, 'Session already exists');
    const episode = this.#episodes.open(start);
    const session: Session = { environment, episode };
    this.#sessions.set(sid, session);
    try {
      const opened = await episode;
      // An expired or failed session counts as deleted once its results are dropped.
      void opened.ended.then((end) => {
        if (end?.status === 'cancelled' && this.#sessions.get(sid) === session) this.#forget(sid);
      });
    } catch (thrown) {
      this.#sessions.delete(sid);
      throw thrown;
    }
    this.#dropOldest();
  }

  /**
   * @param environment name that the client sends. Default: the environment of the session.
   * @throws OrsError 404 for an unknown id, 410 for a deleted session, 400 for a session of another environment.
   */
  async find(sid: string, environment?: string): Promise<Episode> {
    const session = this.#of(sid, environment);
    const episode = await session.episode;
    episode.touch();
    return episode;
  }

  /** Starts a call. It continues if the client disconnects. @throws as `find`; errors of the setup. */
  async call(
    sid: string,
    environment: string,
    { name, input }: { readonly name: string; readonly input: JsonObject },
  ): Promise<OrsCall> {
    const episode = await this.find(sid, environment);
    await episode.ready();
    const reply = episode.call(name, input).then(toCallReply, toFailure);
    return this.#calls.add(episode.traceId, reply.then(toResultEvents));
  }

  /** Finds a running or recent call of this session; undefined if there is none. @throws as `find`. */
  async callOf(sid: string, id: string): Promise<OrsCall | undefined> {
    const { traceId } = await this.find(sid);
    return this.#calls.find(traceId, id);
  }

  /** Deletes a session, and abandons its episode if that still runs. An unknown id is no error. */
  async delete(sid: string): Promise<void> {
    const session = this.#sessions.get(sid);
    if (session === undefined) return;
    this.#forget(sid);
    const episode = await session.episode.catch(() => undefined);
    if (episode !== undefined) await this.#episodes.abandon(episode);
  }

  /** A `create` without an environment means the first one. A client that then asks another one gets an error. */
  #of(sid: string, environment?: string): Session {
    const session = this.#sessions.get(sid);
    if (session !== undefined) {
      if (environment === undefined || environment === session.environment) return session;
      throw new OrsError(
        400,
        `The session plays ${session.environment}, not ${environment}. /create without env_name takes the first environment: name it there, or give a task in place of split and index.`,
      );
    }
    if (this.#deleted.has(sid)) throw new OrsError(410, 'Session deleted');
    throw new OrsError(404, 'Active environment not found: POST /create opens one for the session.');
  }

  #forget(sid: string): void {
    this.#sessions.delete(sid);
    this.#deleted.add(sid);
  }

  /** Drops the oldest ended sessions, since clients may never delete theirs. */
  #dropOldest(): void {
    if (this.#sessions.size <= this.#episodes.size + this.#maxSessions) return;
    const ended = [...this.#sessions].map(async ([sid, { episode }]) => ((await episode).isOver ? [sid] : []));
    void Promise.all(ended)
      .then((sids) => sids.flat().slice(0, Math.ceil(this.#maxSessions / 2)))
      .then((sids) => {
        for (const sid of sids) this.#forget(sid);
      })
      .catch(() => {}); // A failed setup removes its session itself.
  }
}

function toFailure(thrown: unknown): CallReply {
  // An event `error` crashes clients, so the error is a result.
  const message = thrown instanceof ApiError ? thrown.message : 'The call failed on the side of the server.';
  return { ok: false, error: message };
}
