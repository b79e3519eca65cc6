import { inMemory } from 'proctor';
import { connectEnvironment, type EnvironmentClient } from 'proctor/client';
import { afterEach, describe, expect, it } from 'vitest';
import { DataDirectory, ownDataDirectory } from './desk/data-directory.ts';
import RetailEnvironment from './environment.ts';

const taskIds = [...DataDirectory.open(ownDataDirectory).tasks().keys()];
const open: EnvironmentClient[] = [];

async function connect(): Promise<EnvironmentClient> {
  const client = await connectEnvironment(inMemory(RetailEnvironment));
  open.push(client);
  return client;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
});

describe('the retail environment', () => {
  it('offers sixteen tools, and tells which of them only read', async () => {
    const tools = await (await connect()).tools();
    expect(tools).toHaveLength(16);
    const readOnly = tools.filter(({ annotations }) => annotations.readOnlyHint).map(({ name }) => name);
    expect(readOnly).toContain('get_order_details');
    expect(readOnly).not.toContain('cancel_pending_order');
    for (const { description } of tools) expect(description.length).toBeGreaterThan(30);
  });

  it('gives text as text, records as structured content, and refusals in their exact words', async () => {
    const client = await connect();
    expect(await client.call('calculate', { expression: '100 / 3' })).toEqual({
      content: [{ type: 'text', text: '33.33' }],
      structured_content: null,
      is_error: false,
    });
    const order = await client.call('get_order_details', { order_id: '#H1002' });
    expect(order.structured_content).toMatchObject({ order_id: '#H1002', cancel_reason: null });
    expect(await client.call('get_order_details', { order_id: 'H1002' })).toEqual({
      content: [{ type: 'text', text: 'Order not found' }],
      structured_content: null,
      is_error: true,
    });
  });

  it('tells an agent which argument is wrong', async () => {
    const result = await (await connect()).call('get_order_details', { order: '#H1002' });
    expect(result.is_error).toBe(true);
    expect(JSON.stringify(result.content)).toContain('order_id');
  });

  it('gives each session a shop of its own', async () => {
    const [one, other] = [await connect(), await connect()];
    await one.call('cancel_pending_order', { order_id: '#H1003', reason: 'no longer needed' });
    const seen = await other.call('get_order_details', { order_id: '#H1003' });
    expect(seen.structured_content).toMatchObject({ status: 'pending' });
  });
});

describe('the scenario task', () => {
  it('tells the agent the policy, the reason for the call and what is known, and nothing else of the task', async () => {
    const setup = await (await connect()).setup('task', { task_id: '5' });
    expect(setup.system).toContain('Harbour Lane Goods');
    const prompt = JSON.stringify(setup.prompt);
    expect(prompt).toContain('want to hear how much that will be');
    expect(prompt).toContain('ines.vale@mail.example');
    expect(prompt).not.toContain('You ask for the amount');
    expect(prompt).not.toContain('121.30');
    const other = await (await connect()).setup('task', { task_id: '1' });
    expect(JSON.stringify(other.prompt)).not.toContain('do not know the number');
  });

  it.each(taskIds)('gives its own solution of task %s a reward of 1', async (task_id) => {
    const client = await connect();
    const { calls, answer, done } = await client.solution('task', { task_id }, []);
    expect(done).toBe(true);
    await client.setup('task', { task_id });
    for (const call of calls) await client.call(call.name, call.arguments);
    const evaluation = await client.evaluate('task', answer);
    expect(evaluation).toMatchObject({ reward: 1, info: { differing_records: { orders: [], users: [] } } });
  });

  it.each(taskIds)('gives an empty answer to task %s no reward unless doing nothing is right', async (task_id) => {
    const client = await connect();
    await client.setup('task', { task_id });
    const { reward } = await client.evaluate('task', '');
    expect(reward).toBe(task_id === '6' ? 1 : 0);
  });

  it('says which records differ and how, which changed, and what it does not judge', async () => {
    const client = await connect();
    await client.setup('task', { task_id: '5' });
    const items = ['globe-30-steel', 'pen-fine-black'];
    const wrong = { order_id: '#H1001', item_ids: items, payment_method_id: 'card_vale' };
    await client.call('return_delivered_order_items', wrong);
    await client.call('cancel_pending_order', { order_id: '#H1003', reason: 'ordered by mistake' });
    const evaluation = await client.evaluate('task', 'Done.');
    expect(evaluation).toMatchObject({
      reward: 0,
      content:
        "The shop's records are not as they should be (2 records changed): #H1001 (return_payment_method_id); " +
        '#H1003 (status, payment_history.1, cancel_reason).',
      info: {
        differing_records: { orders: ['#H1001', '#H1003'], users: [] },
        changed_records: { orders: ['#H1001', '#H1003'], users: [] },
        not_judged: ['The agent tells the customer that the refund will be 121.30.'],
      },
    });
    expect(evaluation.info.differences).toContainEqual({
      record: '#H1001',
      field: 'return_payment_method_id',
      expected: 'gift_vale',
      actual: 'card_vale',
    });
    expect(evaluation.info.differences).toContainEqual({
      record: '#H1003',
      field: 'payment_history.1',
      actual: { transaction_type: 'refund', amount: 101.85, payment_method_id: 'paypal_okafor' },
    });
  });

  it('does not mind how the state was reached, nor that a record was changed and is as it was', async () => {
    const client = await connect();
    await client.setup('task', { task_id: '6' });
    const { user_id, address } = (await client.call('get_user_details', { user_id: 'amara_stone' }))
      .structured_content as { user_id: string; address: Record<string, string> };
    await client.call('modify_user_address', { user_id, ...address, zip: '00000' });
    await client.call('modify_user_address', { user_id, ...address });
    const evaluation = await client.evaluate('task', '');
    expect(evaluation).toMatchObject({ reward: 1, info: { changed_records: { orders: [], users: [] } } });
  });

  it('starts from the shop as it was read, whatever was done in the session before', async () => {
    const client = await connect();
    await client.call('cancel_pending_order', { order_id: '#H1004', reason: 'no longer needed' });
    await client.setup('task', { task_id: '6' });
    expect(await client.evaluate('task', '')).toMatchObject({ reward: 1 });
  });

  it('refuses a task that does not exist and lists those that do', async () => {
    const client = await connect();
    await expect(client.setup('task', { task_id: '77' })).rejects.toThrow(/task_id.*"1".*"6"/s);
    await expect(client.setup('task', { task_id: 1 })).rejects.toThrow('task_id');
    await expect(client.setup('task', {})).rejects.toThrow('task_id');
  });
});
