import { ApiError } from '../contract/errors.ts';
import type { ChatSession } from '../rollout/chat-session.ts';
import { sessionFinished } from '../rollout/session-end.ts';
import { type SessionRecord, type SessionRecords, toRecord } from './session-records.ts';

/** The sessions of one account, active and ended. One that belongs to another account is not found (contract section 0). */
export class AccountSessions {
  readonly account: string;
  readonly #held: ReadonlyMap<string, ChatSession>;
  readonly #records: SessionRecords;

  /** `held`: the active sessions of this server, of whatever account. */
  constructor(account: string, held: ReadonlyMap<string, ChatSession>, records: SessionRecords) {
    this.account = account;
    this.#held = held;
    this.#records = records;
  }

  /** The active ones, oldest first. */
  get active(): readonly ChatSession[] {
    return [...this.#held.values()].filter(({ options }) => options.account === this.account);
  }

  /** A session that is active here. */
  held(id: string): ChatSession | undefined {
    const session = this.#held.get(id);
    return session?.options.account === this.account ? session : undefined;
  }

  /** An active session. @throws ApiError session_not_found, or session_finished for one that has ended. */
  async find(id: string): Promise<ChatSession> {
    const session = this.held(id);
    if (session !== undefined) return session;
    const record = await this.record(id);
    if (record.status === 'active') {
      throw new ApiError('session_conflict', `Session ${id} is held by another server on the same store.`);
    }
    throw sessionFinished(id, { status: record.status, message: record.message });
  }

  /** The record of a session, active or not. @throws ApiError session_not_found */
  async record(id: string): Promise<SessionRecord> {
    const session = this.held(id);
    if (session !== undefined) return toRecord(session);
    const record = await this.#records.find(id);
    if (record !== undefined && record.account === this.account) return record;
    const message = `There is no session ${JSON.stringify(id.slice(0, 100))}. GET /v1/sessions lists the active ones.`;
    throw new ApiError('session_not_found', message);
  }

  /** Those that have ended and those that are active, here or at another server of the same store, oldest first. */
  async list(): Promise<readonly SessionRecord[]> {
    const written = await this.#records.list(this.account);
    return written.map((record) => {
      const session = record.status === 'active' ? this.held(record.id) : undefined;
      return session === undefined ? record : toRecord(session);
    });
  }
}
