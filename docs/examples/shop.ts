import { EnvironmentServer, serveMain, ToolError } from 'proctor';
import { z } from 'zod';

/** A shop with resources, prompts, and a list of tools that changes while it is open. */
export default function shop() {
  const env = new EnvironmentServer({ name: 'shop' });
  const orders = new Map([
    ['17', { id: '17', item: 'lamp', state: 'open' }],
    ['18', { id: '18', item: 'mug', state: 'open' }],
  ]);
  const beginningWith = (typed: string) => [...orders.keys()].filter((id) => id.startsWith(typed));

  env.resource('shop://rules', { description: 'The rules of the shop.', mimeType: 'text/markdown' }, () => '# Be kind');

  env.resource(
    'shop://orders/{id}',
    { description: 'An order.', complete: { id: (typed) => beginningWith(typed) } },
    ({ id }) => orders.get(id) ?? { error: `There is no order ${id}` },
  );

  env.prompt(
    'complain',
    {
      description: 'A complaint about an order.',
      args: { id: z.string(), tone: z.enum(['polite', 'angry']).default('polite') },
      complete: { id: (typed) => beginningWith(typed) },
    },
    ({ id, tone }) => `Write a short, ${tone} complaint about order ${id}.`,
  );

  env.tool('ship', { description: 'Ships an order.', args: { id: z.string() } }, ({ id }) => {
    const order = orders.get(id);
    if (order === undefined) throw new ToolError(`There is no order ${id}.`);
    order.state = 'shipped';
    env.notifyResourceUpdated(`shop://orders/${id}`);
    return order;
  });

  env.tool('start_sale', { description: 'Starts the sale, once.' }, () => {
    env.tool('discount', { description: 'The discount in per cent, while the sale lasts.' }, () => 20);
    env.removeTool('start_sale');
  });

  return env;
}

serveMain(import.meta, shop);
