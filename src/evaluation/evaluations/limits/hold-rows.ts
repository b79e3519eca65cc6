import { z } from 'zod';
import type { Database } from '../../../store/database/database.ts';
import { lockLimit } from './limit-rows.ts';

/** Milliseconds until a hold counts as abandoned. Workers probe a held gateway all the time. */
const ABANDONED_AFTER_MS = 120_000;

const holdSchema = z.object({
  isHeld: z.boolean(),
  /** Probes since the hold started. */
  probes: z.number(),
  /** True if the hold ended because the gateway stayed down for too long. */
  isGivenUp: z.boolean(),
  /** Time of the write, in milliseconds since 1970. */
  at: z.number(),
});

/** State of a whole gateway, shared by all workers. Its row has the model `""`. */
export interface HoldState extends Omit<z.infer<typeof holdSchema>, 'at'> {
  readonly version: number;
}

export async function readHold(database: Database, gateway: string, now: number): Promise<HoldState | undefined> {
  const row = await database.kysely
    .selectFrom('gateway_limits')
    .select(['version', 'state'])
    .where('gateway', '=', gateway)
    .where('model', '=', '')
    .executeTakeFirst();
  return row === undefined ? undefined : toHold(row, now);
}

/** @param change returns undefined for no change. @returns the current state, and whether this call changed it. */
export async function changeHold(
  database: Database,
  gateway: string,
  now: number,
  change: (state: HoldState) => Omit<HoldState, 'version'> | undefined,
): Promise<{ readonly state: HoldState; readonly isChanged: boolean }> {
  return await database.transaction(async (transaction) => {
    const row = await lockLimit(transaction, { gateway, model: '' });
    const state = toHold({ version: row.version, state: row.state ?? '' }, now);
    const next = change(state);
    if (next === undefined) return { state, isChanged: false };
    const { isHeld, probes, isGivenUp } = next;
    await transaction
      .updateTable('gateway_limits')
      .set({
        call_limit: isHeld ? 0 : 1,
        state: JSON.stringify({ isHeld, probes, isGivenUp, at: now }),
        version: row.version + 1,
      })
      .where('gateway', '=', gateway)
      .where('model', '=', '')
      .execute();
    return { state: { ...next, version: row.version + 1 }, isChanged: true };
  });
}

function toHold({ version, state }: { readonly version: number; readonly state: string }, now: number): HoldState {
  const none = { version, isHeld: false, probes: 0, isGivenUp: false };
  if (state === '') return none;
  const { at, ...known } = holdSchema.parse(JSON.parse(state));
  return Math.abs(now - at) > ABANDONED_AFTER_MS ? none : { version, ...known };
}
