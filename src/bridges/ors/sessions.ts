import { randomUUID } from 'node:crypto';
import { ApiError } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import { RecentSet } from '../../seats/recent-set.ts';
import type { Episode } from '../episode.ts';
import type { EpisodeStart, Episodes } from '../episodes.ts';
import { type CallReply, toCallReply } from './blocks.ts';
import { toResultEvents } from './event-stream.ts';
import { KeptCalls, type OrsCall } from './kept-calls.ts';
import { OrsError } from './ors-error.ts';

/** Ids of sessions that were deleted, whose clients are told so. */
const MAX_DELETED = 10_000;

interface Session {
  /** Name of its environment as the protocol has it. */
  readonly environment: string;
  readonly episode: Promise<Episode>;
}

/** The sessions of an ORS server, by the ids that their clients show. */
export class OrsSessions {
  readonly #episodes: Episodes;
  readonly #sessions = new Map<string, Session>();
  readonly #calls: KeptCalls;
  readonly #deleted = new RecentSet(MAX_DELETED);
  readonly #maxSessions: number;

  /**
   * @param maxSessions ended ones that nobody has deleted are kept up to as many.
   * @param calls by their episodes: the id of a session may come again.
   */
  constructor(episodes: Episodes, maxSessions: number, calls = new KeptCalls()) {
    this.#episodes = episodes;
    this.#maxSessions = maxSessions;
    this.#calls = calls;
  }

  /** A new id. It holds nothing until `create`. */
  newId(): string {
    return randomUUID();
  }

  /**
   * @param environment its name as the protocol has it.
   * @throws OrsError 400 for a session that exists; ApiError as `Episodes.open`.
   */
  async create(sid: string, environment: string, start: EpisodeStart): Promise<void> {
    if (this.#sessions.has(sid)) throw new OrsError(400, 'Session already exists');
    const episode = this.#episodes.open(start);
    const session: Session = { environment, episode };
    this.#sessions.set(sid, session);
    try {
      const opened = await episode;
      // One that was reaped, or failed, is told as deleted once nobody has its result any more.
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
   * @param environment that the client believes to play. Default: whichever it is.
   * @throws OrsError 404 for an id that no session has, 410 for one that was deleted, 400 for one of another environment.
   */
  async find(sid: string, environment?: string): Promise<Episode> {
    const session = this.#of(sid, environment);
    const episode = await session.episode;
    episode.touch();
    return episode;
  }

  /** Begins a call; it goes on whether its client stays or not. @throws as `find`, and what setup failed with. */
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

  /** A call of this session, that goes on or has ended lately; undefined where there is none. @throws as `find`. */
  async callOf(sid: string, id: string): Promise<OrsCall | undefined> {
    const { traceId } = await this.find(sid);
    return this.#calls.find(traceId, id);
  }

  /** Ends a session without an evaluation, unless it is over. Whatever the id is. */
  async delete(sid: string): Promise<void> {
    const session = this.#sessions.get(sid);
    if (session === undefined) return;
    this.#forget(sid);
    const episode = await session.episode.catch(() => undefined);
    if (episode !== undefined) await this.#episodes.abandon(episode);
  }

  /** Clients that name no environment in `create` get the first one, whichever they ask afterwards: they have to learn of it. */
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

  /** Sessions that were played and never deleted would stay for ever. */
  #dropOldest(): void {
    if (this.#sessions.size <= this.#episodes.size + this.#maxSessions) return;
    const ended = [...this.#sessions].map(async ([sid, { episode }]) => ((await episode).isOver ? [sid] : []));
    void Promise.all(ended)
      .then((sids) => sids.flat().slice(0, Math.ceil(this.#maxSessions / 2)))
      .then((sids) => {
        for (const sid of sids) this.#forget(sid);
      })
      .catch(() => {}); // One that begins and fails removes itself.
  }
}

function toFailure(thrown: unknown): CallReply {
  // Clients die of an event `error`.
  const message = thrown instanceof ApiError ? thrown.message : 'The call failed on the side of the server.';
  return { ok: false, error: message };
}
