import { describe, expect, it } from 'vitest';
import { TestDesk } from './test-desk.ts';

const payment = (amount: number, payment_method_id: string) => ({
  transaction_type: 'payment' as const,
  amount,
  payment_method_id,
});
const refund = (amount: number, payment_method_id: string) => ({
  transaction_type: 'refund' as const,
  amount,
  payment_method_id,
});
const address = { address1: '1 New Street', address2: '', city: 'Reno', state: 'NV', country: 'USA', zip: '89501' };

describe('cancel_pending_order', () => {
  const cancel = (order_id: string, reason = 'no longer needed') => ({ order_id, reason });

  it('refunds every entry of the history to its method and says why', () => {
    const desk = new TestDesk();
    const order = desk.callForOrder('cancel_pending_order', cancel('#H1003', 'ordered by mistake'));
    expect(order).toMatchObject({ status: 'cancelled', cancel_reason: 'ordered by mistake' });
    expect(order.payment_history).toEqual([payment(101.85, 'paypal_okafor'), refund(101.85, 'paypal_okafor')]);
    expect(desk.database.savedIds()).toEqual({ orders: ['#H1003'], users: [] });
  });

  it('credits gift cards for each entry, refunds among them, and rounds each balance', () => {
    const desk = new TestDesk();
    desk.call('modify_pending_order_payment', { order_id: '#H1008', payment_method_id: 'gift_marchetti' });
    expect(desk.balance('hugo_marchetti', 'gift_marchetti')).toBe(14.2);
    const order = desk.callForOrder('cancel_pending_order', cancel('#H1008'));
    expect(order.payment_history).toEqual([
      payment(135.8, 'paypal_marchetti'),
      payment(135.8, 'gift_marchetti'),
      refund(135.8, 'paypal_marchetti'),
      refund(135.8, 'paypal_marchetti'),
      refund(135.8, 'gift_marchetti'),
      refund(135.8, 'paypal_marchetti'),
    ]);
    expect(desk.balance('hugo_marchetti', 'gift_marchetti')).toBe(150);

    desk.given('#H1006', { payment_history: [payment(0.1, 'gift_lindqvist'), refund(0.2, 'gift_lindqvist')] });
    desk.call('cancel_pending_order', cancel('#H1006'));
    expect(desk.balance('priya_lindqvist', 'gift_lindqvist')).toBe(25.8);
  });

  it('refuses, in this order: an unknown order, another status, another reason', () => {
    const desk = new TestDesk();
    expect(desk.refusal('cancel_pending_order', cancel('H1003', 'bored'))).toBe('Order not found');
    for (const id of ['#H1001', '#H1002', '#H1005']) {
      expect(desk.refusal('cancel_pending_order', cancel(id, 'bored'))).toBe('Non-pending order cannot be cancelled');
    }
    for (const reason of ['bored', 'No longer needed', 'no longer needed ', '']) {
      expect(desk.refusal('cancel_pending_order', cancel('#H1003', reason))).toBe('Invalid reason');
    }
    desk.given('#H1003', { status: 'pending (item modified)' });
    expect(desk.refusal('cancel_pending_order', cancel('#H1003'))).toBe('Non-pending order cannot be cancelled');
  });

  it('changes nothing when a method of the history does not exist', () => {
    const desk = new TestDesk();
    desk.given('#H1006', { payment_history: [payment(5, 'gift_lindqvist'), payment(5, 'gift_vale')] });
    const before = structuredClone(desk.order('#H1006'));
    expect(desk.refusal('cancel_pending_order', cancel('#H1006'))).toBe('Payment method not found');
    expect(desk.order('#H1006')).toEqual(before);
    expect(desk.balance('priya_lindqvist', 'gift_lindqvist')).toBe(25.5);
  });
});

describe('modify_pending_order_address', () => {
  it('replaces the address of the order and not that of the account, as it is given', () => {
    const desk = new TestDesk();
    const account = desk.user('tomas_okafor').address;
    expect(desk.callForOrder('modify_pending_order_address', { order_id: '#H1003', ...address }).address).toEqual(
      address,
    );
    expect(desk.user('tomas_okafor').address).toEqual(account);
    desk.given('#H1004', { status: 'pending (item modified)' });
    const empty = { address1: '', address2: '', city: '', state: '', country: '', zip: '' };
    const order = desk.callForOrder('modify_pending_order_address', { order_id: '#H1004', ...empty });
    expect(order).toMatchObject({ address: empty, status: 'pending (item modified)' });
  });

  it('refuses an unknown order and one that is not pending', () => {
    const desk = new TestDesk();
    const change = (order_id: string) => desk.refusal('modify_pending_order_address', { order_id, ...address });
    expect(change('#H9999')).toBe('Order not found');
    for (const id of ['#H1001', '#H1002', '#H1005']) expect(change(id)).toBe('Non-pending order cannot be modified');
  });
});

describe('modify_pending_order_items', () => {
  const modify = (item_ids: string[], new_item_ids: string[], payment_method_id = 'card_lindqvist') => ({
    order_id: '#H1006',
    item_ids,
    new_item_ids,
    payment_method_id,
  });
  const tool = 'modify_pending_order_items';

  it('swaps the first line with the item and books the difference without rounding it', () => {
    const desk = new TestDesk();
    const order = desk.callForOrder(tool, modify(['pen-fine-black'], ['pen-broad-black']));
    expect(order.status).toBe('pending (item modified)');
    expect(order.items.map((line) => line.item_id)).toEqual(['pen-broad-black', 'pen-fine-black', 'teapot-600-blue']);
    expect(order.items[0]).toEqual({
      name: 'Fountain Pen',
      product_id: 'P-PEN',
      item_id: 'pen-broad-black',
      price: 37.45,
      options: { nib: 'broad', body: 'black' },
    });
    expect(37.45 - 34.9).not.toBe(2.55);
    expect(order.payment_history.at(-1)).toEqual(payment(37.45 - 34.9, 'card_lindqvist'));
  });

  it('gives all changed lines the price and options of the last replacement, as the desk always has', () => {
    const order = new TestDesk().callForOrder(
      tool,
      modify(['teapot-600-blue', 'pen-fine-black'], ['teapot-1200-blue', 'pen-medium-black']),
    );
    const medium = { price: 34.9, options: { nib: 'medium', body: 'black' } };
    expect(order.items[0]).toMatchObject({ item_id: 'pen-medium-black', ...medium });
    expect(order.items[2]).toMatchObject({ name: 'Teapot', item_id: 'teapot-1200-blue', ...medium });
    expect(order.payment_history.at(-1)).toEqual(payment(0 + (58.6 - 41.3) + (34.9 - 34.9), 'card_lindqvist'));
  });

  it('looks for the line that has the item now, when a new id is a later old one', () => {
    const desk = new TestDesk();
    const [pen, , pot] = desk.order('#H1006').items;
    if (pen === undefined || pot === undefined) throw new Error('The order has three lines');
    desk.given('#H1006', { items: [pen, { ...pen, item_id: 'pen-medium-black' }, pot] });
    const order = desk.callForOrder(
      tool,
      modify(['pen-fine-black', 'pen-medium-black'], ['pen-medium-black', 'pen-broad-black']),
    );
    expect(order.items.map((line) => line.item_id)).toEqual(['pen-broad-black', 'pen-medium-black', 'teapot-600-blue']);
  });

  it('adds the differences from the left', () => {
    const desk = new TestDesk();
    const prices = [34.9, 34.9, 41.3];
    const replacements = [37.45, 37.45, 58.6];
    const order = desk.callForOrder(
      tool,
      modify(
        ['pen-fine-black', 'pen-fine-black', 'teapot-600-blue'],
        ['pen-broad-black', 'pen-broad-black', 'teapot-1200-blue'],
      ),
    );
    const expected = replacements.reduce((sum, price, at) => sum + (price - (prices[at] ?? 0)), 0);
    expect(order.payment_history.at(-1)?.amount).toBe(expected);
  });

  it('takes the difference from a gift card, gives it back to one, and rounds the balance', () => {
    const desk = new TestDesk();
    desk.call(tool, modify(['pen-fine-black'], ['pen-broad-black'], 'gift_lindqvist'));
    expect(desk.balance('priya_lindqvist', 'gift_lindqvist')).toBe(22.95);

    const cheaper = new TestDesk();
    const order = cheaper.callForOrder(tool, modify(['teapot-600-blue'], ['teapot-600-white'], 'gift_lindqvist'));
    expect(order.payment_history.at(-1)).toEqual(refund(Math.abs(38.75 - 41.3), 'gift_lindqvist'));
    expect(cheaper.balance('priya_lindqvist', 'gift_lindqvist')).toBe(28.05);
  });

  it('books a refund of 0 where the prices are equal, and for two empty lists', () => {
    const equal = new TestDesk().callForOrder(tool, modify(['pen-fine-black'], ['pen-medium-black']));
    expect(equal.payment_history.at(-1)).toEqual(refund(0, 'card_lindqvist'));
    const desk = new TestDesk();
    const lines = desk.order('#H1006').items;
    const order = desk.callForOrder(tool, modify([], [], 'gift_lindqvist'));
    expect(order).toMatchObject({ status: 'pending (item modified)', items: lines });
    expect(order.payment_history.at(-1)).toEqual(refund(0, 'gift_lindqvist'));
  });

  it('refuses, each check before the next one', () => {
    const desk = new TestDesk();
    const refusal = (...args: Parameters<typeof modify>) => desk.refusal(tool, modify(...args));
    expect(desk.refusal(tool, { ...modify([], []), order_id: '#H9999' })).toBe('Order not found');
    expect(desk.refusal(tool, { ...modify(['x'], []), order_id: '#H1005' })).toBe(
      'Non-pending order cannot be modified',
    );
    expect(refusal(['teapot-600-blue', 'globe-20-oak'], [])).toBe('globe-20-oak not found');
    expect(refusal(['pen-fine-black', 'teapot-600-blue', 'pen-fine-black', 'pen-fine-black'], [])).toBe(
      'pen-fine-black not found',
    );
    expect(refusal(['pen-fine-black'], [])).toBe('The number of items to be exchanged should match');
    expect(refusal([], ['pen-fine-black'])).toBe('The number of items to be exchanged should match');
    expect(refusal(['pen-fine-black'], ['pen-fine-black'], 'nothing')).toBe(
      'The new item id should be different from the old item id',
    );
    expect(refusal(['pen-fine-black'], ['teapot-600-white'], 'nothing')).toBe('Variant not found');
    expect(refusal(['pen-fine-black'], ['toString'], 'nothing')).toBe('Variant not found');
    expect(refusal(['pen-fine-black'], ['pen-broad-green'], 'nothing')).toBe(
      'New item pen-broad-green not found or available',
    );
    expect(refusal(['pen-fine-black', 'teapot-600-blue'], ['pen-broad-green', 'teapot-600-blue'])).toBe(
      'New item pen-broad-green not found or available',
    );
    expect(refusal(['pen-fine-black'], ['pen-broad-black'], 'card_vale')).toBe('Payment method not found');
    expect(refusal(['pen-fine-black'], ['pen-broad-black'], 'toString')).toBe('Payment method not found');
    desk.given('#H1006', { items: desk.order('#H1006').items.map((line) => ({ ...line, price: 1 })) });
    expect(refusal(['pen-fine-black'], ['pen-broad-black'], 'gift_lindqvist')).toBe(
      'Insufficient gift card balance to pay for the new item',
    );
    desk.given('#H1006', { user_id: 'nobody' });
    expect(refusal(['pen-fine-black'], ['pen-broad-black'])).toBe('User not found');
    const line = desk.order('#H1006').items[0];
    if (line !== undefined) desk.given('#H1006', { items: [{ ...line, product_id: 'P-GONE' }] });
    expect(refusal(['pen-fine-black'], ['pen-broad-black'])).toBe('Product not found');
  });

  it('works once for an order, whose address may still change but not its payment', () => {
    const desk = new TestDesk();
    desk.call(tool, modify(['pen-fine-black'], ['pen-broad-black']));
    expect(desk.refusal(tool, modify(['pen-fine-black'], ['pen-broad-black']))).toBe(
      'Non-pending order cannot be modified',
    );
    desk.call('modify_pending_order_address', { order_id: '#H1006', ...address });
    expect(
      desk.refusal('modify_pending_order_payment', { order_id: '#H1006', payment_method_id: 'gift_lindqvist' }),
    ).toBe('There should be exactly one payment for a pending order');
  });
});

describe('modify_pending_order_payment', () => {
  const tool = 'modify_pending_order_payment';
  const pay = (order_id: string, payment_method_id: string) => ({ order_id, payment_method_id });

  it('pays with the new method, refunds the old one, and keeps the status', () => {
    const desk = new TestDesk();
    const order = desk.callForOrder(tool, pay('#H1008', 'gift_marchetti'));
    expect(order.status).toBe('pending');
    expect(order.payment_history).toEqual([
      payment(135.8, 'paypal_marchetti'),
      payment(135.8, 'gift_marchetti'),
      refund(135.8, 'paypal_marchetti'),
    ]);
    expect(desk.balance('hugo_marchetti', 'gift_marchetti')).toBe(14.2);
  });

  it('gives the money back to an old gift card', () => {
    const desk = new TestDesk();
    desk.given('#H1008', { payment_history: [payment(0.2, 'gift_marchetti')] });
    desk.call(tool, pay('#H1008', 'paypal_marchetti'));
    expect(desk.balance('hugo_marchetti', 'gift_marchetti')).toBe(150.2);
  });

  it('refuses, each check before the next one', () => {
    const desk = new TestDesk();
    expect(desk.refusal(tool, pay('#H9999', 'nothing'))).toBe('Order not found');
    expect(desk.refusal(tool, pay('#H1005', 'nothing'))).toBe('Non-pending order cannot be modified');
    expect(desk.refusal(tool, pay('#H1003', 'gift_marchetti'))).toBe('Payment method not found');
    expect(desk.refusal(tool, pay('#H1003', 'paypal_okafor'))).toBe(
      'The new payment method should be different from the current one',
    );
    expect(desk.refusal(tool, pay('#H1006', 'gift_lindqvist'))).toBe(
      'Insufficient gift card balance to pay for the order',
    );
    for (const history of [[], [refund(1, 'paypal_okafor')], [payment(1, 'x'), payment(1, 'y')]]) {
      desk.given('#H1003', { payment_history: history });
      expect(desk.refusal(tool, pay('#H1003', 'paypal_okafor'))).toBe(
        'There should be exactly one payment for a pending order',
      );
    }
    desk.given('#H1003', { user_id: 'nobody' });
    expect(desk.refusal(tool, pay('#H1003', 'paypal_okafor'))).toBe('User not found');
  });
});

describe('modify_user_address', () => {
  it('replaces the address of the account and not those of its orders', () => {
    const desk = new TestDesk();
    const order = desk.order('#H1003').address;
    expect(desk.call('modify_user_address', { user_id: 'tomas_okafor', ...address })).toMatchObject({ address });
    expect(desk.order('#H1003').address).toEqual(order);
    expect(desk.refusal('modify_user_address', { user_id: 'nobody', ...address })).toBe('User not found');
  });
});
