import { EnvironmentServer, serveMain, ToolError } from 'proctor';
import { z } from 'zod';

/** A desk that gives money back, and one graded task. */
export default function desk() {
  const env = new EnvironmentServer({ name: 'desk', version: '1.0.0' });
  const orders = new Map([
    ['A1', { paid: 40, refunded: 0 }],
    ['A2', { paid: 15, refunded: 0 }],
  ]);

  env.tool('order_find', { args: { order_id: z.string() } }, ({ order_id }) => {
    const order = orders.get(order_id);
    if (order === undefined) throw new ToolError(`There is no order ${order_id}.`);
    return { ...order };
  });

  env.tool('refund', { args: { order_id: z.string(), amount: z.int().positive() } }, ({ order_id, amount }) => {
    const order = orders.get(order_id);
    if (order === undefined) throw new ToolError(`There is no order ${order_id}.`);
    order.refunded += amount;
    return `${amount} of order ${order_id} went back.`;
  });

  env.tool('close_shop', {}, () => 'The shop is closed for ever.');

  env.scenario(
    'refund',
    {
      description: 'A customer wants money back.',
      args: { order_id: z.enum(['A1', 'A2']), amount: z.int().positive().default(10) },
      system: 'You are a clerk. Refund what was asked for, once.',
      tools: ['order_*', 'refund'],
      answer: z.object({ refunded: z.int() }),
      solution: ({ order_id, amount }) => ({
        calls: [{ name: 'refund', arguments: { order_id, amount } }],
        answer: { refunded: amount },
      }),
      tasks: [
        { id: 'usual', args: { order_id: 'A1' }, split: 'train' },
        { id: 'much', args: { order_id: 'A2', amount: 250 }, split: 'test', tags: ['large'] },
      ],
    },
    async function* ({ order_id, amount }, ctx) {
      for (const order of orders.values()) order.refunded = 0;
      try {
        const answer = yield `Give ${amount} back for order ${order_id}, and say how much went back.`;
        const wrong = [...orders].filter(([id, { refunded }]) => refunded !== (id === order_id ? amount : 0));
        return {
          subscores: [
            { name: 'money', value: wrong.length === 0 ? 1 : 0, weight: 3 },
            { name: 'said so', value: wrong.length === 0 && answer.refunded === amount ? 1 : 0 },
          ],
          content: wrong.length === 0 ? 'The right amount went back.' : 'The books are wrong.',
          info: { wrong: wrong.map(([id]) => id) },
        };
      } finally {
        ctx.log('The desk is tidy again.');
      }
    },
  );

  return env;
}

serveMain(import.meta, desk);
