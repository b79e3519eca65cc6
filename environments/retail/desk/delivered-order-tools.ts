import { z } from 'zod';
import type { Database } from './database.ts';
import { deskTool, newItemsArgument, orderIdArgument, paymentMethodArgument } from './desk-tool.ts';
import { findOrder, findPaymentMethod, firstMissingItem, refuse } from './lookups.ts';
import { round2 } from './numbers.ts';
import { isShortOf } from './payments.ts';
import { pairSwaps, priceSwaps } from './swaps.ts';
import type { Order } from './types.ts';

/** Both record a request alone: lines, payments and balances change when the goods arrive, which is not this desk's part. */
export const deliveredOrderTools = [
  deskTool({
    name: 'exchange_delivered_order_items',
    description:
      'Requests the exchange of items of a delivered order for variants of the same products that are in stock. It works once ' +
      'for an order: collect everything that is to be exchanged, and ask the customer to confirm, before calling it.',
    isReadOnly: false,
    args: {
      order_id: orderIdArgument,
      item_ids: z.array(z.string()).describe('Ids of the items to be exchanged; an id twice for two copies.'),
      new_item_ids: newItemsArgument,
      payment_method_id: paymentMethodArgument,
    },
    run: (database, { order_id, item_ids, new_item_ids, payment_method_id }) =>
      requestExchange(database, order_id, item_ids, new_item_ids, payment_method_id),
  }),
  deskTool({
    name: 'return_delivered_order_items',
    description:
      'Requests the return of items of a delivered order. The refund goes to the payment method that paid for the order or to ' +
      'a gift card of the customer. It works once for an order; ask the customer to confirm first.',
    isReadOnly: false,
    args: {
      order_id: orderIdArgument,
      item_ids: z.array(z.string()).describe('Ids of the items to be returned; an id twice for two copies.'),
      payment_method_id: paymentMethodArgument,
    },
    run: (database, { order_id, item_ids, payment_method_id }) =>
      requestReturn(database, order_id, item_ids, payment_method_id),
  }),
];

function requestExchange(
  database: Database,
  orderId: string,
  itemIds: readonly string[],
  newItemIds: readonly string[],
  paymentMethodId: string,
): Order {
  const order = findOrder(database, orderId);
  if (order.status !== 'delivered') refuse('Non-delivered order cannot be exchanged');
  const missing = firstMissingItem(order, itemIds);
  if (missing !== undefined) refuse(`Number of ${missing} not found.`);
  const swaps = pairSwaps(itemIds, newItemIds) ?? refuse('The number of items to be exchanged should match.');
  const difference = round2(priceSwaps(database, order, swaps, { allowSameItem: true }).difference);
  const method = findPaymentMethod(database, order, paymentMethodId);
  if (isShortOf(method, difference)) refuse('Insufficient gift card balance to pay for the price difference');

  const requested: Order = {
    ...order,
    status: 'exchange requested',
    exchange_items: [...itemIds].sort(),
    exchange_new_items: [...newItemIds].sort(),
    exchange_payment_method_id: paymentMethodId,
    exchange_price_difference: difference,
  };
  database.saveOrder(requested);
  return requested;
}

function requestReturn(
  database: Database,
  orderId: string,
  itemIds: readonly string[],
  paymentMethodId: string,
): Order {
  const order = findOrder(database, orderId);
  if (order.status !== 'delivered') refuse('Non-delivered order cannot be returned');
  const method = findPaymentMethod(database, order, paymentMethodId);
  const isOriginal = order.payment_history[0]?.payment_method_id === paymentMethodId;
  if (method.source !== 'gift_card' && !isOriginal) refuse('Payment method should be the original payment method');
  if (firstMissingItem(order, itemIds) !== undefined) refuse('Some item not found');

  const requested: Order = {
    ...order,
    status: 'return requested',
    return_items: [...itemIds].sort(),
    return_payment_method_id: paymentMethodId,
  };
  database.saveOrder(requested);
  return requested;
}
