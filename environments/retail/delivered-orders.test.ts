import { describe, expect, it } from 'vitest';
import { TestDesk } from './test-desk.ts';

describe('exchange_delivered_order_items', () => {
  const tool = 'exchange_delivered_order_items';
  const exchange = (item_ids: string[], new_item_ids: string[], payment_method_id = 'card_stone') => ({
    order_id: '#H1009',
    item_ids,
    new_item_ids,
    payment_method_id,
  });
  const both = [
    ['teapot-600-blue', 'blanket-double-grey'],
    ['teapot-1200-blue', 'blanket-double-rust'],
  ] as const;

  it('records the request with both lists sorted on their own and the difference rounded', () => {
    const desk = new TestDesk();
    const before = desk.order('#H1009');
    const order = desk.callForOrder(tool, exchange([...both[0]], [...both[1]]));
    expect(order).toEqual({
      ...before,
      status: 'exchange requested',
      exchange_items: ['blanket-double-grey', 'teapot-600-blue'],
      exchange_new_items: ['blanket-double-rust', 'teapot-1200-blue'],
      exchange_payment_method_id: 'card_stone',
      exchange_price_difference: 20.8,
    });
    expect(58.6 - 41.3 + (101.85 - 98.35)).not.toBe(20.8);
    expect(desk.database.savedIds()).toEqual({ orders: ['#H1009'], users: [] });
  });

  it('lets the item be exchanged for its like, and nothing for nothing', () => {
    const same = new TestDesk().callForOrder(tool, exchange(['teapot-600-blue'], ['teapot-600-blue']));
    expect(same.exchange_price_difference).toBe(0);
    const none = new TestDesk().callForOrder(tool, exchange([], []));
    expect(none).toMatchObject({
      status: 'exchange requested',
      exchange_items: [],
      exchange_new_items: [],
      exchange_price_difference: 0,
    });
  });

  it('leaves a gift card alone, which must cover a difference and may receive one', () => {
    const desk = new TestDesk();
    desk.given('#H1009', { user_id: 'ines_vale' });
    const cheaper = desk.callForOrder(tool, exchange(['teapot-600-blue'], ['teapot-600-white'], 'gift_vale'));
    expect(cheaper.exchange_price_difference).toBe(-2.55);
    expect(desk.balance('ines_vale', 'gift_vale')).toBe(60);
  });

  it('refuses, each check before the next one', () => {
    const desk = new TestDesk();
    const refusal = (...args: Parameters<typeof exchange>) => desk.refusal(tool, exchange(...args));
    expect(desk.refusal(tool, { ...exchange([], []), order_id: 'H1009' })).toBe('Order not found');
    expect(desk.refusal(tool, { ...exchange(['x'], []), order_id: '#H1003' })).toBe(
      'Non-delivered order cannot be exchanged',
    );
    expect(refusal(['teapot-600-blue', 'teapot-600-blue'], [])).toBe('Number of teapot-600-blue not found.');
    expect(refusal(['teapot-600-blue'], [])).toBe('The number of items to be exchanged should match.');
    expect(refusal(['teapot-600-blue'], ['blanket-single-grey'], 'nothing')).toBe('Variant not found');
    expect(refusal(['teapot-600-blue'], ['teapot-1200-white'], 'nothing')).toBe(
      'New item teapot-1200-white not found or available',
    );
    expect(refusal(['teapot-600-blue'], ['teapot-1200-blue'], 'card_vale')).toBe('Payment method not found');
    desk.given('#H1009', { user_id: 'priya_lindqvist' });
    desk.given('#H1009', { items: desk.order('#H1009').items.map((line) => ({ ...line, price: 1 })) });
    expect(refusal(['teapot-600-blue'], ['teapot-1200-blue'], 'gift_lindqvist')).toBe(
      'Insufficient gift card balance to pay for the price difference',
    );
    desk.given('#H1009', { user_id: 'nobody' });
    expect(refusal(['teapot-600-blue'], ['teapot-1200-blue'])).toBe('User not found');
    desk.given('#H1009', { items: desk.order('#H1009').items.map((line) => ({ ...line, product_id: 'P-GONE' })) });
    expect(refusal(['teapot-600-blue'], ['teapot-1200-blue'])).toBe('Product not found');
  });

  it('works once for an order, which cannot be returned afterwards', () => {
    const desk = new TestDesk();
    desk.call(tool, exchange([], []));
    expect(desk.refusal(tool, exchange([], []))).toBe('Non-delivered order cannot be exchanged');
    const items = { order_id: '#H1009', item_ids: [], payment_method_id: 'card_stone' };
    expect(desk.refusal('return_delivered_order_items', items)).toBe('Non-delivered order cannot be returned');
  });
});

describe('return_delivered_order_items', () => {
  const tool = 'return_delivered_order_items';
  const giveBack = (item_ids: string[], payment_method_id = 'card_vale') => ({
    order_id: '#H1001',
    item_ids,
    payment_method_id,
  });

  it('records the request, sorted, and moves no money', () => {
    const desk = new TestDesk();
    const before = desk.order('#H1001');
    expect(desk.call(tool, giveBack(['pen-fine-black', 'globe-30-steel'], 'gift_vale'))).toEqual({
      ...before,
      status: 'return requested',
      return_items: ['globe-30-steel', 'pen-fine-black'],
      return_payment_method_id: 'gift_vale',
    });
    expect(desk.balance('ines_vale', 'gift_vale')).toBe(60);
  });

  it('keeps an item that comes back twice twice, and takes an empty list', () => {
    const desk = new TestDesk();
    const [globe, pen] = desk.order('#H1001').items;
    if (globe === undefined || pen === undefined) throw new Error('The order has two lines');
    desk.given('#H1001', { items: [pen, globe, pen] });
    const order = desk.callForOrder(tool, giveBack(['pen-fine-black', 'globe-30-steel', 'pen-fine-black']));
    expect(order.return_items).toEqual(['globe-30-steel', 'pen-fine-black', 'pen-fine-black']);
    expect(new TestDesk().callForOrder(tool, giveBack([])).return_items).toEqual([]);
  });

  it('refuses, the payment method before the items', () => {
    const desk = new TestDesk();
    const refusal = (...args: Parameters<typeof giveBack>) => desk.refusal(tool, giveBack(...args));
    expect(desk.refusal(tool, { ...giveBack([]), order_id: '#H9999' })).toBe('Order not found');
    expect(desk.refusal(tool, { ...giveBack([], 'nothing'), order_id: '#H1005' })).toBe(
      'Non-delivered order cannot be returned',
    );
    expect(refusal(['x'], 'gift_marchetti')).toBe('Payment method not found');
    expect(refusal(['x'])).toBe('Some item not found');
    expect(refusal(['pen-fine-black', 'pen-fine-black'], 'gift_vale')).toBe('Some item not found');
    expect(desk.refusal(tool, { ...giveBack(['x'], 'card_stone'), order_id: '#H1010' })).toBe(
      'Payment method should be the original payment method',
    );
    desk.given('#H1010', { payment_history: [] });
    expect(desk.refusal(tool, { ...giveBack([], 'paypal_stone'), order_id: '#H1010' })).toBe(
      'Payment method should be the original payment method',
    );
    desk.given('#H1001', { user_id: 'nobody' });
    expect(refusal(['x'])).toBe('User not found');
  });
});
