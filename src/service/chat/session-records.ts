import type { Json, JsonObject } from '../../contract/json.ts';
import type { Evaluation } from '../../contract/scenario.ts';
import type { SessionStatus } from '../../contract/session.ts';
import type { SessionEnd } from '../../rollout/session/session-end.ts';
import type { Database, DatabaseTransaction } from '../../store/database/database.ts';
import { RowLease } from '../../store/database/row-lease.ts';
import type { Redactor } from '../../support/redaction/redactor.ts';
import type { ChatSession } from './chat-session.ts';

/** The submitted answer and its evaluation. */
export interface FinishResult {
  readonly answer: Json;
  readonly evaluation: Evaluation;
}

/** A session in the database. It stays when the server of the session is gone. Times are milliseconds since 1970. */
export interface SessionRecord {
  readonly id: string;
  readonly traceId: string;
  readonly account: string;
  readonly status: SessionStatus;
  /** Short name of the scenario. */
  readonly scenario: string;
  readonly args: JsonObject;
  readonly model: string;
  readonly createdAt: number;
  readonly lastActiveAt: number;
  readonly turns: number;
  readonly steps: number;
  /** Result of the evaluation; null if there was none. */
  readonly result: FinishResult | null;
  /** Error message of a failed session. */
  readonly message: string | null;
}

/** The sessions of scenario servers in the database. */
export class SessionRecords {
  /** Lease of the active sessions of this server. */
  readonly lease: RowLease;
  readonly #database: Database;
  readonly #redactor: Redactor;

  /** `serverId` identifies the server that writes these records. */
  constructor(database: Database, serverId: string, redactor: Redactor) {
    this.#database = database;
    this.#redactor = redactor;
    this.lease = new RowLease(database, 'chat_sessions', serverId);
  }

  /** Inserts a new session, in the transaction that writes its trace. */
  async insert(record: SessionRecord, transaction: DatabaseTransaction): Promise<void> {
    await transaction
      .insertInto('chat_sessions')
      .values({
        session_id: record.id,
        trace_id: record.traceId,
        account: record.account,
        server: this.lease.owner,
        status: record.status,
        scenario: record.scenario,
        scenario_args: JSON.stringify(this.#redactor.json(record.args)),
        model: record.model,
        created_at: record.createdAt,
        last_active_at: record.lastActiveAt,
        seen_at: Date.now(),
        turns: record.turns,
        steps: record.steps,
        result: null,
        message: null,
      })
      .execute();
  }

  /** Writes the end of a session. */
  async end(
    id: string,
    end: Omit<SessionRecord, 'id' | 'traceId' | 'account' | 'scenario' | 'args' | 'model' | 'createdAt'>,
  ) {
    await this.#database.transaction(async (transaction) => {
      await transaction
        .updateTable('chat_sessions')
        .set({
          status: end.status,
          last_active_at: end.lastActiveAt,
          turns: end.turns,
          steps: end.steps,
          result: end.result === null ? null : JSON.stringify(this.#redactor.json(end.result)),
          message: end.message === null ? null : this.#redactor.text(end.message),
        })
        .where('session_id', '=', id)
        .execute();
    });
  }

  async find(id: string): Promise<SessionRecord | undefined> {
    const row = await this.#database.kysely
      .selectFrom('chat_sessions')
      .selectAll()
      .where('session_id', '=', id)
      .executeTakeFirst();
    return row === undefined ? undefined : readRow(row);
  }

  /** The sessions of an account as last written, oldest first. */
  async list(account: string): Promise<readonly SessionRecord[]> {
    const rows = await this.#database.kysely
      .selectFrom('chat_sessions')
      .selectAll()
      .where('account', '=', account)
      .orderBy('created_at')
      .execute();
    return rows.map(readRow);
  }
}

/** The current record of a session. */
export function toRecord(session: ChatSession): SessionRecord {
  const { id, traceId, status, createdAt, lastActiveAt, turns, steps, end, options } = session;
  return {
    id,
    traceId,
    account: options.account,
    status,
    scenario: options.scenario,
    args: options.args,
    model: options.model,
    createdAt,
    lastActiveAt,
    turns,
    steps,
    result: toResult(end),
    message: end?.error?.message ?? null,
  };
}

interface Row {
  readonly account: string;
  readonly session_id: string;
  readonly trace_id: string;
  readonly status: string;
  readonly scenario: string;
  readonly scenario_args: string;
  readonly model: string;
  readonly created_at: number;
  readonly last_active_at: number;
  readonly turns: number;
  readonly steps: number;
  readonly result: string | null;
  readonly message: string | null;
}

function readRow(row: Row): SessionRecord {
  return {
    id: row.session_id,
    traceId: row.trace_id,
    account: row.account,
    status: row.status as SessionStatus, // Only `insert` and `end` write this column.
    scenario: row.scenario,
    args: JSON.parse(row.scenario_args),
    model: row.model,
    createdAt: Number(row.created_at),
    lastActiveAt: Number(row.last_active_at),
    turns: row.turns,
    steps: row.steps,
    result: row.result === null ? null : JSON.parse(row.result),
    message: row.message,
  };
}

/** Drops the evaluation of a session that failed. */
function toResult(end: SessionEnd | undefined): FinishResult | null {
  if (end?.status !== 'completed' || end.evaluation === null) return null;
  return { answer: end.answer, evaluation: end.evaluation };
}
