import { z } from 'zod';
import { deskTool, orderIdArgument } from './desk-tool.ts';
import { findOrder, findProduct, findUser, refuse } from './lookups.ts';
import type { User } from './types.ts';

export const readingTools = [
  deskTool({
    name: 'find_user_id_by_email',
    description: "Finds a customer's user id by email address; capitals do not matter.",
    isReadOnly: true,
    args: { email: z.string().describe("The email address of the customer's account.") },
    run: (database, { email }) =>
      firstUserId(database.users(), (user) => user.email.toLowerCase() === email.toLowerCase()),
  }),
  deskTool({
    name: 'find_user_id_by_name_zip',
    description:
      "Finds a customer's user id by first name, last name and zip code of the account's address. Capitals in the names do " +
      'not matter. Use it for a customer who does not know the email address of the account.',
    isReadOnly: true,
    args: {
      first_name: z.string().describe('As the customer gives it.'),
      last_name: z.string().describe('As the customer gives it.'),
      zip: z.string().describe("Such as '90210'."),
    },
    run: (database, { first_name, last_name, zip }) =>
      firstUserId(
        database.users(),
        ({ name, address }) =>
          name.first_name.toLowerCase() === first_name.toLowerCase() &&
          name.last_name.toLowerCase() === last_name.toLowerCase() &&
          address.zip === zip,
      ),
  }),
  deskTool({
    name: 'get_user_details',
    description: "Gives a customer's record: name, address, email, payment methods and the ids of all orders.",
    isReadOnly: true,
    args: { user_id: z.string().describe('The user id, as the find tools give it.') },
    run: (database, { user_id }) => findUser(database, user_id),
  }),
  deskTool({
    name: 'get_order_details',
    description:
      'Gives an order: status, address, items with prices, fulfillments, payment history, and what has been cancelled, ' +
      'exchanged or returned.',
    isReadOnly: true,
    args: { order_id: orderIdArgument },
    run: (database, { order_id }) => findOrder(database, order_id),
  }),
  deskTool({
    name: 'get_product_details',
    description: 'Gives a product with all its variants (item id, options, price, whether in stock).',
    isReadOnly: true,
    args: { product_id: z.string().describe('The id of the product, which is not an item id.') },
    run: (database, { product_id }) => findProduct(database, product_id),
  }),
  deskTool({
    name: 'get_item_details',
    description: 'Gives one variant of a product: its options, its price and whether it is in stock.',
    isReadOnly: true,
    args: { item_id: z.string().describe('The id of the item, which is not a product id.') },
    run: (database, { item_id }) => {
      for (const { variants } of database.products()) {
        const variant = Object.hasOwn(variants, item_id) ? variants[item_id] : undefined;
        if (variant !== undefined) return variant;
      }
      return refuse('Item not found');
    },
  }),
  deskTool({
    name: 'list_all_product_types',
    description: 'Lists the names of all products of the shop with their product ids.',
    isReadOnly: true,
    args: {},
    run: (database) => {
      const products = [...database.products()].sort((a, b) => compareCodePoints(a.name, b.name));
      const entries = products.map(({ name, product_id }) => `${JSON.stringify(name)}: ${JSON.stringify(product_id)}`);
      return `{${entries.join(', ')}}`;
    },
  }),
];

function firstUserId(users: Iterable<User>, isWanted: (user: User) => boolean): string {
  for (const user of users) if (isWanted(user)) return user.user_id;
  return refuse('User not found');
}

/** UTF-8 sorts as its code points do; a locale would put `LED` after `Laptop`. */
function compareCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
