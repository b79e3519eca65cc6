import type { Database } from './database.ts';
import { DeskError } from './desk-error.ts';
import type { Order, OrderLine, PaymentMethod, Product, User, Variant } from './types.ts';

export function findOrder(database: Database, orderId: string): Order {
  return database.order(orderId) ?? refuse('Order not found');
}

export function findUser(database: Database, userId: string): User {
  return database.user(userId) ?? refuse('User not found');
}

export function findProduct(database: Database, productId: string): Product {
  return database.product(productId) ?? refuse('Product not found');
}

/** Among the methods of the order's own customer; anyone else's is not found. */
export function findPaymentMethod(database: Database, order: Order, paymentMethodId: string): PaymentMethod {
  const methods = findUser(database, order.user_id).payment_methods;
  return own(methods, paymentMethodId) ?? refuse('Payment method not found');
}

/** The variant that is to replace `line`: of the same product, and in stock. */
export function findReplacement(database: Database, line: OrderLine, itemId: string): Variant {
  const variant = findVariant(database, line.product_id, itemId);
  if (!variant.available) throw new DeskError(`New item ${itemId} not found or available`);
  return variant;
}

/** The first line with the item; the caller has checked that there are enough copies. */
export function findLine(order: Order, itemId: string): OrderLine {
  return order.items.find((line) => line.item_id === itemId) ?? refuse(`${itemId} not found`);
}

/** @returns the first id that occurs more often in `itemIds` than on the order's lines, undefined when none does. */
export function firstMissingItem(order: Order, itemIds: readonly string[]): string | undefined {
  return itemIds.find(
    (id) =>
      count(itemIds, id) >
      count(
        order.items.map((line) => line.item_id),
        id,
      ),
  );
}

export function refuse(message: string): never {
  throw new DeskError(message);
}

function findVariant(database: Database, productId: string, itemId: string): Variant {
  return own(findProduct(database, productId).variants, itemId) ?? refuse('Variant not found');
}

/** A key of the record itself: `toString` is not a payment method. */
function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function count(ids: readonly string[], id: string): number {
  return ids.filter((other) => other === id).length;
}
