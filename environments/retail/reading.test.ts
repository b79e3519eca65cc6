import { describe, expect, it } from 'vitest';
import { DataDirectory, ownDataDirectory } from './desk/data-directory.ts';
import { Database, toShopRecords } from './desk/database.ts';
import { deskTools } from './desk/tools.ts';
import { TestDesk } from './test-desk.ts';

const hostileNames = ['toString', '__proto__', 'constructor', ''];

describe('the reading tools', () => {
  it('find a customer by email, whatever the capitals, and nobody by a near miss', () => {
    const desk = new TestDesk();
    expect(desk.call('find_user_id_by_email', { email: 'INES.Vale@mail.example' })).toBe('ines_vale');
    expect(desk.refusal('find_user_id_by_email', { email: ' ines.vale@mail.example' })).toBe('User not found');
  });

  it('find a customer by names in any capitals and the exact current zip', () => {
    const desk = new TestDesk();
    const stone = { first_name: 'AMARA', last_name: 'stone', zip: '85701' };
    expect(desk.call('find_user_id_by_name_zip', stone)).toBe('amara_stone');
    for (const wrong of [{ first_name: 'Amar' }, { last_name: 'Ston' }, { zip: '85702' }, { zip: '85701 ' }]) {
      expect(desk.refusal('find_user_id_by_name_zip', { ...stone, ...wrong })).toBe('User not found');
    }
    const { zip: _old, ...address } = desk.user('amara_stone').address;
    desk.call('modify_user_address', { user_id: 'amara_stone', ...address, zip: '10001' });
    expect(desk.refusal('find_user_id_by_name_zip', stone)).toBe('User not found');
    expect(desk.call('find_user_id_by_name_zip', { ...stone, zip: '10001' })).toBe('amara_stone');
  });

  it('give the first customer in the order of the file where two match', () => {
    const records = DataDirectory.open(ownDataDirectory).records();
    const [first, second] = [...records.users.values()];
    if (first === undefined || second === undefined) throw new Error('The shop has two users');
    const users = { [second.user_id]: second, [first.user_id]: { ...first, email: second.email.toUpperCase() } };
    const database = new Database(toShopRecords({ products: {}, orders: {}, users }));
    const tool = deskTools.find(({ name }) => name === 'find_user_id_by_email');
    expect(tool?.run(database, { email: second.email })).toBe(second.user_id);
  });

  it('give whole records, an order with its seven optional fields as null', () => {
    const desk = new TestDesk();
    const order = desk.callForOrder('get_order_details', { order_id: '#H1002' });
    expect(order.status).toBe('cancelled');
    expect(Object.keys(order)).toHaveLength(14);
    expect(order).toMatchObject({
      cancel_reason: null,
      exchange_items: null,
      exchange_new_items: null,
      exchange_payment_method_id: null,
      exchange_price_difference: null,
      return_items: null,
      return_payment_method_id: null,
    });
    expect(Object.keys(desk.call('get_user_details', { user_id: 'ines_vale' })).sort()).toEqual(
      ['address', 'email', 'name', 'orders', 'payment_methods', 'user_id'].sort(),
    );
    expect(desk.call('get_product_details', { product_id: 'P-TEA' })).toMatchObject({
      product_id: 'P-TEA',
      variants: { 'teapot-1200-white': { available: false } },
    });
    expect(desk.call('get_item_details', { item_id: 'pen-broad-green' })).toEqual({
      item_id: 'pen-broad-green',
      options: { nib: 'broad', body: 'green' },
      available: false,
      price: 39.2,
    });
  });

  it.each([
    ['get_user_details', 'user_id', 'User not found', 'Ines_Vale'],
    ['get_order_details', 'order_id', 'Order not found', 'H1001'],
    ['get_product_details', 'product_id', 'Product not found', 'teapot-600-blue'],
    ['get_item_details', 'item_id', 'Item not found', 'P-TEA'],
  ])('%s refuses an id that does not exist', (name, argument, message, nearMiss) => {
    const desk = new TestDesk();
    for (const id of [nearMiss, ...hostileNames]) expect(desk.refusal(name, { [argument]: id })).toBe(message);
  });

  it('list the products as JSON text on one line, in the order of code points', () => {
    expect(new TestDesk().call('list_all_product_types', {})).toBe(
      '{"Desk Globe": "P-GLOBE", "Fountain Pen": "P-PEN", "Teapot": "P-TEA", "Wool Blanket": "P-BLANKET"}',
    );
    const names = ['Laptop', 'Electric Kettle', 'LED Light Bulb', 'E-Reader', 'Tablet', 'T-Shirt', 'a', 'É', '"x"'];
    const products = Object.fromEntries(
      names.map((name, at) => [`p${at}`, { name, product_id: `p${at}`, variants: {} }]),
    );
    const tool = deskTools.find(({ name }) => name === 'list_all_product_types');
    expect(tool?.run(new Database(toShopRecords({ products, users: {}, orders: {} })), {})).toBe(
      '{"\\"x\\"": "p8", "E-Reader": "p3", "Electric Kettle": "p1", "LED Light Bulb": "p2", "Laptop": "p0", ' +
        '"T-Shirt": "p5", "Tablet": "p4", "a": "p6", "É": "p7"}',
    );
  });
});

describe('every tool', () => {
  it('refuses arguments that are missing, of the wrong type, or not its own', () => {
    const desk = new TestDesk();
    expect(desk.refusal('get_user_details', {})).toContain('user_id');
    expect(desk.refusal('get_user_details', { user_id: 7 })).toContain('user_id');
    expect(desk.refusal('calculate', { expression: '1', precision: 2 })).toContain('precision');
    const items = { order_id: '#H1001', item_ids: 'pen-fine-black', payment_method_id: 'card_vale' };
    expect(desk.refusal('return_delivered_order_items', items)).toContain('item_ids');
  });

  it('is one of sixteen, by its own name', () => {
    expect(new Set(deskTools.map(({ name }) => name)).size).toBe(16);
  });

  it('gives a snapshot that later calls do not alter', () => {
    const desk = new TestDesk();
    const before = desk.call('get_order_details', { order_id: '#H1003' });
    const copy = structuredClone(before);
    desk.call('cancel_pending_order', { order_id: '#H1003', reason: 'no longer needed' });
    expect(before).toEqual(copy);
    expect(desk.order('#H1003').status).toBe('cancelled');
  });

  it('leaves the records of other sessions alone', () => {
    const [one, other] = [new TestDesk(), new TestDesk()];
    one.call('cancel_pending_order', { order_id: '#H1003', reason: 'no longer needed' });
    expect(other.order('#H1003').status).toBe('pending');
    expect(one.database.fresh().order('#H1003')?.status).toBe('pending');
  });

  it('hands over to a person whatever the summary is, and changes nothing', () => {
    const desk = new TestDesk();
    expect(desk.call('transfer_to_human_agents', { summary: '' })).toBe('Transfer successful');
    expect(desk.database.savedIds()).toEqual({ orders: [], users: [] });
  });
});
