import { CATEGORIES, type CategoryId, PRODUCT_LINES, type ProductLine } from './product-lines.ts';

export interface Product extends ProductLine {
  /** Cents. */
  readonly price: number;
  /** Tenths of a star, 31 to 49. */
  readonly rating: number;
  readonly reviews: number;
  /** Grams. */
  readonly weight: number;
  /** Pieces; 0: sold out. */
  readonly stock: number;
}

export type SortOrder = 'name' | 'price';

/** The products of one seed. The same seed gives the same products on every machine. */
export class Catalogue {
  readonly products: readonly Product[];

  constructor(seed: number) {
    const random = createRandom(seed);
    this.products = (Object.keys(CATEGORIES) as CategoryId[]).flatMap((category) => stock(category, random));
  }

  find(id: string): Product | undefined {
    return this.products.find((product) => product.id === id);
  }

  /** Those whose name, material or category has every word that is searched for. */
  search(words: string, category: string, order: SortOrder): readonly Product[] {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    return this.products
      .filter((product) => category === '' || product.category === category)
      .filter((product) => wanted.every((word) => textOf(product).includes(word)))
      .sort((a, b) => (order === 'price' ? a.price - b.price : 0) || a.name.localeCompare(b.name, 'en'));
  }
}

/** Each category has a product that is in stock and rated 4.5 or better, and no price twice. */
function stock(category: CategoryId, random: () => number): Product[] {
  const lines = PRODUCT_LINES.filter((line) => line.category === category);
  const good = Math.floor(random() * lines.length);
  const prices = new Set<number>();
  return lines.map((line, index) => {
    const isGood = index === good;
    let price = Math.round(line.usualPrice * (0.75 + random() * 0.5)) * 100 + (random() < 0.5 ? 0 : 50);
    while (prices.has(price)) price += 50;
    prices.add(price);
    return {
      ...line,
      price,
      rating: isGood ? 45 + Math.floor(random() * 5) : 31 + Math.floor(random() * 19),
      reviews: 4 + Math.floor(random() * 300),
      weight: Math.round((line.usualWeight * (0.85 + random() * 0.3)) / 10) * 10,
      stock: isGood || random() < 0.8 ? 10 + Math.floor(random() * 30) : 0,
    };
  });
}

function textOf({ name, material, category }: Product): string {
  return `${name} ${material} ${CATEGORIES[category].title}`.toLowerCase();
}

/** Numbers from 0 up to 1 by a linear congruence (Numerical Recipes' constants): enough to vary a shop. */
function createRandom(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  // Neighbouring seeds start with neighbouring numbers.
  for (let round = 0; round < 8; round += 1) next();
  return next;
}
