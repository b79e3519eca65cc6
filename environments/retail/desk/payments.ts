import type { Database } from './database.ts';
import { findUser } from './lookups.ts';
import { round2 } from './numbers.ts';
import type { Order, PaymentMethod, User } from './types.ts';

/** True when `method` is a gift card that holds less than `amount`. A negative amount is always covered. */
export function isShortOf(method: PaymentMethod, amount: number): boolean {
  return method.source === 'gift_card' && method.balance < amount;
}

/**
 * Adds `amount` (negative: takes it off) to the balance, where the method is a gift card of the order's customer; money
 * on other methods moves outside the shop.
 */
export function credit(database: Database, order: Order, method: PaymentMethod, amount: number): void {
  if (method.source !== 'gift_card') return;
  const user: User = findUser(database, order.user_id);
  const card = user.payment_methods[method.id];
  if (card?.source !== 'gift_card') return;
  const paid = { ...card, balance: round2(card.balance + amount) };
  database.saveUser({ ...user, payment_methods: { ...user.payment_methods, [method.id]: paid } });
}
