import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const recordsSchema = z.record(z.string(), z.json());
const expectedTaskSchema = z.object({
  id: z.string(),
  steps: z.array(
    z.object({
      name: z.string(),
      arguments: z.record(z.string(), z.json()),
      ok: z.json().optional(),
      error: z.string().optional(),
    }),
  ),
  changed_records: z.object({ orders: recordsSchema.default({}), users: recordsSchema.default({}) }),
});
/** A line of `expected.jsonl`: what the reference calls of a task give, and the records that differ from db.json after them. */
export type ExpectedTask = z.infer<typeof expectedTaskSchema>;
export type ExpectedStep = ExpectedTask['steps'][number];

const shopSchema = z.object({ orders: z.record(z.string(), z.looseObject({})), users: recordsSchema });
export type Records = Readonly<Record<string, unknown>>;
/** Records by id. */
export interface Shop {
  readonly orders: Records;
  readonly users: Records;
}

const UNSET_ORDER_FIELDS = {
  cancel_reason: null,
  exchange_items: null,
  exchange_new_items: null,
  exchange_payment_method_id: null,
  exchange_price_difference: null,
  return_items: null,
  return_payment_method_id: null,
};

export function readExpected(directory: string): readonly ExpectedTask[] {
  const lines = readFileSync(join(directory, 'expected.jsonl'), 'utf8').split('\n');
  return lines.filter((line) => line.trim() !== '').map((line) => expectedTaskSchema.parse(JSON.parse(line)));
}

/** The shop before a task, as tools show it: an order has the seven optional fields. */
export function readShop(directory: string): Shop {
  const { orders, users } = shopSchema.parse(JSON.parse(readFileSync(join(directory, 'db.json'), 'utf8')));
  const complete = Object.entries(orders).map(([id, order]) => [id, { ...UNSET_ORDER_FIELDS, ...order }]);
  return { orders: Object.fromEntries(complete), users };
}
