import { type Evaluation, type SolutionGenerator, ToolError } from 'proctor';
import { z } from 'zod';
import type { Product } from '../shop/catalogue.ts';
import { CATEGORIES, type CategoryId } from '../shop/product-lines.ts';
import type { Shop } from '../shop/shop.ts';
import { act } from './act.ts';
import { Seed } from './seed.ts';

const CATEGORY_IDS = Object.keys(CATEGORIES) as [CategoryId, ...CategoryId[]];

export const Find = z.object({
  category: z.enum(CATEGORY_IDS).describe('Where to look.'),
  min_rating: z.number().min(3).max(4.5).default(4).describe('Stars, of 5.'),
  seed: Seed,
});
export type FindArgs = z.output<typeof Find>;

export const FindAnswer = z.object({
  product: z.string().describe('Its name, as the shop has it.'),
  price: z.number().describe('In euros.'),
});
export type FindAnswerValue = z.output<typeof FindAnswer>;

export function findPrompt({ category, min_rating }: FindArgs): string {
  return `A browser shows the shop Larkfield. Among its ${CATEGORIES[category].title.toLowerCase()}, look at those that are in stock and rated ${min_rating.toFixed(1)} of 5 or better. Which of them is the cheapest? Answer with its name and its price in euros.`;
}

/** A wrong product is worth nothing, whatever the price. */
export function judgeFind(args: FindArgs, shop: Shop, answer: FindAnswerValue): Evaluation {
  const right = cheapest(args, shop);
  const isProduct = answer.product.trim().toLowerCase() === right.name.toLowerCase();
  const isPrice = isProduct && Math.abs(answer.price * 100 - right.price) < 0.5;
  return {
    subscores: [
      { name: 'product', value: isProduct ? 1 : 0 },
      { name: 'price', value: isPrice ? 1 : 0 },
    ],
    content: `It is ${right.name} at ${(right.price / 100).toFixed(2)}.`,
    info: { product: right.name, price: right.price / 100 },
  };
}

/** Opens every article of the category and reads what it says of itself. */
export async function* solveFind({ category, min_rating }: FindArgs): SolutionGenerator<FindAnswerValue> {
  yield* act('goto', { address: `/products?category=${category}` });
  const list = yield* act('read_page', {});
  const addresses = new Set([...list.matchAll(/\/url: (\/products\/[a-z-]+)$/gm)].map(([, path]) => path ?? ''));
  let best: FindAnswerValue | undefined;
  for (const address of addresses) {
    yield* act('goto', { address });
    const page = yield* act('read_page', {});
    const product = /heading "(.+)" \[level=1\]/.exec(page)?.[1] ?? '';
    const rating = Number(/Rated ([\d.]+) of 5/.exec(page)?.[1]);
    const price = Number(/€ ([\d.]+)/.exec(page)?.[1]);
    const isCandidate = rating >= min_rating && page.includes('In stock');
    if (isCandidate && (best === undefined || price < best.price)) best = { product, price };
  }
  if (best === undefined) throw new ToolError(`No article of ${category} has ${min_rating} stars and is in stock.`);
  return best;
}

function cheapest({ category, min_rating }: FindArgs, shop: Shop): Product {
  const [first] = shop.catalogue
    .search('', category, 'price')
    .filter(({ stock, rating }) => stock > 0 && rating >= min_rating * 10);
  if (first === undefined) throw new Error(`No product of ${category} is in stock and rated ${min_rating} or better`);
  return first;
}
