import { z } from 'zod';
import type { LimitChange } from '../../../contract/service/evaluation.ts';
import {
  type AdaptiveLimit,
  afterRefusal,
  afterServerError,
  afterSuccess,
  callsAtOnce,
  newLimit,
  type Refusal,
} from '../../../models/gateway/adaptive-limit.ts';
import type { Database, DatabaseTransaction } from '../../../store/database/database.ts';

/** A model of a gateway. */
export interface LimitKey {
  readonly gateway: string;
  readonly model: string;
}

/** An event since a worker's last write. `held` and `released` are only for the history. */
export type LimitEvent =
  | { readonly type: 'success'; readonly calls: number }
  | ({ readonly type: 'refusal' } & Refusal)
  | { readonly type: 'server_error' }
  | { readonly type: 'held' | 'released' };

export interface LimitUser {
  readonly worker: string;
  /** Concurrent calls that the worker wants. */
  readonly wanted: number;
  /** Most concurrent calls that its evaluations allow. */
  readonly ceiling: number;
  /** Changes at each write. */
  readonly seenAt: number;
}

export interface LimitExchange {
  readonly state: AdaptiveLimit;
  /** All workers, including this one. */
  readonly users: readonly LimitUser[];
}

/** Milliseconds without use until a limit is deleted. */
const KNOWN_FOR_MS = 10 * 60_000;
/** Milliseconds for which changes are kept. */
const HISTORY_MS = 90 * 24 * 3_600_000;

const storedSchema = z.object({
  limit: z.number(),
  isStarting: z.boolean(),
  clean: z.number(),
  restsUntil: z.number(),
  refusedAt: z.number().nullable(),
  staysBelowUntil: z.number(),
  cuts: z.number(),
  /** When it was written. */
  at: z.number(),
});

export function applyEvent(
  state: AdaptiveLimit,
  event: LimitEvent,
  moment: { readonly now: number; readonly ceiling: number },
): AdaptiveLimit {
  if (event.type === 'success') return afterSuccess(state, event.calls, moment);
  if (event.type === 'refusal') return afterRefusal(state, event, moment);
  return event.type === 'server_error' ? afterServerError(state, moment) : state;
}

/** Adds a worker's events to the common state, and returns the new state. */
export async function exchangeLimit(
  database: Database,
  key: LimitKey,
  own: LimitUser,
  { events, now }: { readonly events: readonly LimitEvent[]; readonly now: number },
): Promise<LimitExchange> {
  return await database.transaction(async (transaction) => {
    const row = await lockLimit(transaction, key);
    await transaction
      .insertInto('gateway_users')
      .values({ ...key, worker: own.worker, wanted: own.wanted, ceiling: own.ceiling, seen_at: own.seenAt })
      .onConflict((conflict) =>
        conflict
          .columns(['gateway', 'model', 'worker'])
          .doUpdateSet({ wanted: own.wanted, ceiling: own.ceiling, seen_at: own.seenAt }),
      )
      .execute();
    const rows = await transaction
      .selectFrom('gateway_users')
      .select(['worker', 'wanted', 'ceiling', 'seen_at'])
      .where('gateway', '=', key.gateway)
      .where('model', '=', key.model)
      .execute();
    const users = rows.map(({ seen_at, ...user }) => ({ ...user, seenAt: seen_at }));
    const moment = { now, ceiling: Math.max(...users.map(({ ceiling }) => ceiling)) };
    const known = row.state === null ? undefined : parseStored(row.state, now);
    const changes = new Changes();
    let state = known ?? newLimit(moment.ceiling);
    if (known === undefined) changes.add('start', callsAtOnce(state, moment.ceiling));
    for (const event of events) {
      const before = state;
      state = applyEvent(state, event, moment);
      changes.addEvent(event, before, state, moment);
    }
    if (known === undefined || events.length > 0) {
      await write(transaction, key, { version: row.version, state, changes: changes.list, now });
    }
    return { state, users };
  });
}

/** The row of a key, locked until the transaction ends. */
export async function lockLimit(
  transaction: DatabaseTransaction,
  key: LimitKey,
): Promise<{ readonly version: number; readonly state: string | null }> {
  await transaction
    .insertInto('gateway_limits')
    .values({ ...key, call_limit: 0, state: '', version: 0 })
    .onConflict((conflict) => conflict.columns(['gateway', 'model']).doNothing())
    .execute();
  const row = await transaction
    .updateTable('gateway_limits')
    .set((row) => ({ version: row.ref('version') }))
    .where('gateway', '=', key.gateway)
    .where('model', '=', key.model)
    .returning(['version', 'state'])
    .executeTakeFirstOrThrow();
  return { version: row.version, state: row.state === '' ? null : row.state };
}

function parseStored(text: string, now: number): AdaptiveLimit | undefined {
  const { at, ...state } = storedSchema.parse(JSON.parse(text));
  return Math.abs(now - at) > KNOWN_FOR_MS ? undefined : state;
}

async function write(
  transaction: DatabaseTransaction,
  key: LimitKey,
  {
    version,
    state,
    changes,
    now,
  }: {
    readonly version: number;
    readonly state: AdaptiveLimit;
    readonly changes: readonly Pick<LimitChange, 'reason' | 'limit'>[];
    readonly now: number;
  },
): Promise<void> {
  await transaction
    .updateTable('gateway_limits')
    .set({
      call_limit: state.limit,
      state: JSON.stringify({ ...state, at: now }),
      version: version + Math.max(1, changes.length),
    })
    .where('gateway', '=', key.gateway)
    .where('model', '=', key.model)
    .execute();
  if (changes.length === 0) return;
  await transaction
    .insertInto('gateway_limit_changes')
    .values(
      changes.map(({ reason, limit }, index) => ({
        ...key,
        version: version + index + 1,
        at: now,
        call_limit: limit,
        reason,
      })),
    )
    .execute();
  if (!changes.some(({ reason }) => reason === 'start')) return;
  await transaction
    .deleteFrom('gateway_limit_changes')
    .where('gateway', '=', key.gateway)
    .where('model', '=', key.model)
    .where('at', '<', now - HISTORY_MS)
    .execute();
}

/** The history of one exchange: each failure separately, and growth between them combined. */
class Changes {
  readonly list: Pick<LimitChange, 'reason' | 'limit'>[] = [];

  add(reason: LimitChange['reason'], limit: number): void {
    this.list.push({ reason, limit });
  }

  addEvent(
    event: LimitEvent,
    before: AdaptiveLimit,
    after: AdaptiveLimit,
    { now, ceiling }: { readonly now: number; readonly ceiling: number },
  ): void {
    const limit = callsAtOnce(after, ceiling);
    if (event.type === 'held') this.add('held', 0);
    if (event.type === 'released') this.add('released', limit);
    if (event.type === 'refusal' && after.cuts > before.cuts) this.add('refused', limit);
    if (event.type === 'server_error' && before.restsUntil <= now) this.add('server_error', limit);
    if (event.type !== 'success' || limit === callsAtOnce(before, ceiling)) return;
    if (this.list.at(-1)?.reason === 'grown') this.list.pop();
    this.add('grown', limit);
  }
}

/** Removes a worker that makes no more calls of this model, or that has not written for long. */
export async function leaveLimit(database: Database, key: LimitKey, worker: string): Promise<void> {
  await database.kysely
    .deleteFrom('gateway_users')
    .where('gateway', '=', key.gateway)
    .where('model', '=', key.model)
    .where('worker', '=', worker)
    .execute();
}
