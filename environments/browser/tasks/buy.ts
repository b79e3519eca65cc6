import { type Evaluation, type SolutionGenerator, ToolError } from 'proctor';
import { z } from 'zod';
import type { Product } from '../shop/catalogue.ts';
import { COLOURS, type ColourName, PRODUCT_LINES } from '../shop/product-lines.ts';
import { capital } from '../shop/product-pages.ts';
import { DELIVERIES, DELIVERY_IDS, MAX_QUANTITY, type Order, type Shop } from '../shop/shop.ts';
import { act } from './act.ts';
import { Seed } from './seed.ts';

const PRODUCT_IDS = PRODUCT_LINES.map(({ id }) => id) as [string, ...string[]];
const COLOUR_NAMES = Object.keys(COLOURS) as [ColourName, ...ColourName[]];
const line = z.string().trim().min(1).max(100);

export const Buy = z.object({
  product: z.enum(PRODUCT_IDS).describe('What to order.'),
  colour: z.enum(COLOUR_NAMES).optional().describe('One that the product comes in; its first by default.'),
  quantity: z.int().min(1).max(MAX_QUANTITY).default(1),
  delivery: z.enum(DELIVERY_IDS).default('standard'),
  name: line.default('Ada Bellweather'),
  street: line.default('Mill Lane 4'),
  postcode: line.default('4821'),
  city: line.default('Eastmere'),
  gift_note: z.string().trim().max(200).default('').describe('With one, it is to be wrapped as a gift.'),
  seed: Seed,
});
export type BuyArgs = z.output<typeof Buy>;

/** What is to be ordered, from the shop it is ordered in. @throws ToolError for what that shop cannot sell. */
function articleOf({ product: id, colour, seed }: BuyArgs, shop: Shop): { product: Product; colour: ColourName } {
  const product = shop.catalogue.find(id);
  const chosen = colour ?? product?.colours[0];
  if (product === undefined || chosen === undefined) throw new ToolError(`There is no product ${id}`);
  if (!product.colours.includes(chosen)) {
    throw new ToolError(
      `colour: ${product.name} does not come in ${chosen}. It comes in ${product.colours.join(', ')}`,
    );
  }
  if (product.stock === 0) throw new ToolError(`product: ${product.name} is sold out in the shop of seed ${seed}`);
  return { product, colour: chosen };
}

export function buyPrompt(args: BuyArgs, shop: Shop): string {
  const { product, colour } = articleOf(args, shop);
  const { quantity, delivery, name, street, postcode, city, gift_note } = args;
  const gift = gift_note === '' ? '' : ` Have it wrapped as a gift, with the note: ${gift_note}`;
  return `A browser shows the shop Larkfield. Order ${quantity} × ${product.name} in ${colour} there, and nothing else, for:

${name}
${street}
${postcode} ${city}

Choose "${DELIVERIES[delivery].title}".${gift}

Place the order once, and tell me its number.`;
}

/** Grades the order that was really placed. Another product is worth nothing; the right one as much as is right about it. */
export function judgeBuy(args: BuyArgs, shop: Shop): Evaluation {
  const { orders } = shop;
  const { product, colour } = articleOf(args, shop);
  const order = orders.find(({ lines }) => lines.some((each) => each.product.id === product.id));
  if (order === undefined) {
    const content = orders.length === 0 ? 'No order was placed.' : `No order has ${product.name}.`;
    return { reward: 0, content, info: { orders: orders.map(toRecord) } };
  }
  const subscores = [
    { name: 'product', value: order.lines.length === 1, weight: 2 },
    { name: 'colour', value: order.lines.every((each) => each.colour === colour), weight: 1 },
    { name: 'quantity', value: piecesOf(order, product.id) === args.quantity, weight: 1 },
    { name: 'delivery', value: order.delivery === args.delivery, weight: 1 },
    { name: 'address', value: isSentTo(order, args), weight: 1 },
    { name: 'gift', value: isAlike(order.giftNote, args.gift_note), weight: 1 },
    { name: 'placed_once', value: orders.length === 1, weight: 1 },
  ].map(({ value, ...more }) => ({ ...more, value: value ? 1 : 0 }));
  const wrong = subscores.filter(({ value }) => value === 0).map(({ name }) => name);
  const content =
    wrong.length === 0 ? 'The order is as it was asked for.' : `Not as it was asked for: ${wrong.join(', ')}.`;
  return { subscores, content, info: { orders: orders.map(toRecord) } };
}

/** Orders as a person would, by what the pages show. */
export async function* solveBuy(args: BuyArgs, shop: Shop): SolutionGenerator {
  const { product, colour } = articleOf(args, shop);
  const { quantity, delivery, name, street, postcode, city, gift_note } = args;
  yield* act('type_text', { target: 'Search the shop', text: product.name, submit: true });
  yield* act('click', { target: product.name });
  yield* act('click', { target: capital(colour) });
  yield* act('type_text', { target: 'Quantity', text: String(quantity) });
  yield* act('click', { target: 'Add to basket' });
  yield* act('click', { target: 'Go to checkout' });
  yield* act('type_text', { target: 'Full name', text: name });
  yield* act('type_text', { target: 'Street and number', text: street });
  yield* act('type_text', { target: 'Postcode', text: postcode });
  yield* act('type_text', { target: 'City', text: city });
  yield* act('click', { target: DELIVERIES[delivery].title });
  if (gift_note !== '') {
    yield* act('click', { target: 'Wrap as a gift' });
    yield* act('type_text', { target: 'Note on the gift', text: gift_note });
  }
  yield* act('click', { target: 'Place order' });
  const page = yield* act('read_page', {});
  const number = /LF-\d+/.exec(page)?.[0];
  if (number === undefined) throw new Error(`The order has no number: ${page}`);
  return `The order ${number} has been placed.`;
}

/** The order as the trace keeps it. */
function toRecord({ lines, ...order }: Order): Readonly<Record<string, unknown>> {
  return { ...order, lines: lines.map(({ product, colour, quantity }) => ({ product: product.id, colour, quantity })) };
}

function piecesOf({ lines }: Order, productId: string): number {
  return lines.reduce((sum, { product, quantity }) => sum + (product.id === productId ? quantity : 0), 0);
}

function isSentTo(order: Order, { name, street, postcode, city }: BuyArgs): boolean {
  const pairs = [
    [order.name, name],
    [order.street, street],
    [order.postcode, postcode],
    [order.city, city],
  ] as const;
  return pairs.every(([actual, asked]) => isAlike(actual, asked));
}

function isAlike(one: string, other: string): boolean {
  const plain = (text: string) => text.replaceAll(/\s+/g, ' ').trim().toLowerCase();
  return plain(one) === plain(other);
}
