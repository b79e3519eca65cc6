import type { EnvironmentTarget } from '../../src/environment/client/environment-client.ts';
import { inMemory } from '../../src/environment/server/in-memory.ts';
import { EnvironmentServer, Hub } from '../../src/index.ts';

/**
 * An environment with one of everything that its pages show; `say` makes the texts and the free names of it.
 */
export function shopTarget(say: (words: string) => string = (words) => words): EnvironmentTarget {
  return inMemory(() => createShop(say));
}

function createShop(say: (words: string) => string): EnvironmentServer {
  const shop = new EnvironmentServer({ name: 'shop', version: '2.1.0', instructions: say('A shop with one counter.') });
  const address = {
    type: 'object',
    description: say('Where it goes.'),
    properties: { [say('street')]: { type: 'string', minLength: 1 }, floor: { type: ['integer', 'null'], maximum: 9 } },
    required: [say('street')],
  };
  shop.tool(
    'place_order',
    {
      title: say('Place an order'),
      description: say('Orders something.\nIt cannot be taken back.'),
      annotations: { destructiveHint: true, openWorldHint: false },
      args: {
        type: 'object',
        properties: {
          sku: { type: 'string', description: say('What to order.'), enum: [say('tea'), `${say('milk')} (whole)`] },
          address,
          items: { type: 'array', items: { type: 'object', properties: { count: { type: 'integer', default: 1 } } } },
        },
        required: ['sku'],
      },
      returns: { type: 'object', properties: { number: { type: 'integer', description: say('Of the order.') } } },
    },
    () => ({ number: 1 }),
  );
  shop.tool('look', { annotations: { readOnlyHint: true } }, () => 'a shop');
  shop.mount(new Hub('audit', { audience: 'harness' }).tool('stock', {}, () => 1));
  const args = {
    type: 'object',
    properties: {
      customer: { type: 'string', description: say('Who asks.') },
      count: { type: 'integer', minimum: 1, maximum: 5, default: 2 },
      isUrgent: { type: 'boolean' },
      size: { type: 'string', enum: [say('small'), `${say('large')}!`], default: say('small') },
      tags: { type: 'array', items: { type: 'string' }, default: [say('new')] },
      address,
    },
    required: ['customer', 'isUrgent'],
    additionalProperties: false,
  };
  shop.scenario(
    'order',
    { description: say('Order what the customer asks for.'), args, solution: () => ({ calls: [], answer: 'done' }) },
    async function* (given) {
      yield `Do this: ${JSON.stringify(given)}`;
      return { reward: (given as { isUrgent: boolean }).isUrgent ? 0.5 : 1 };
    },
  );
  shop.scenario('wait', {}, async function* () {
    yield 'Wait.';
    return 1;
  });
  return shop;
}
