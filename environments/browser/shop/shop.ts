import { Catalogue, type Product } from './catalogue.ts';
import type { ColourName } from './product-lines.ts';

export const DELIVERIES = {
  standard: { title: 'Standard delivery', words: '3 to 5 working days', price: 490 },
  express: { title: 'Express delivery', words: 'the next working day', price: 990 },
  pickup: { title: 'Pick up in the shop', words: 'ready tomorrow', price: 0 },
} as const;

export type DeliveryId = keyof typeof DELIVERIES;
export const DELIVERY_IDS = Object.keys(DELIVERIES) as [DeliveryId, ...DeliveryId[]];

export interface Line {
  readonly product: Product;
  readonly colour: ColourName;
  readonly quantity: number;
}

export interface Recipient {
  readonly name: string;
  readonly street: string;
  readonly postcode: string;
  readonly city: string;
}

export interface Order extends Recipient {
  readonly number: string;
  readonly lines: readonly Line[];
  readonly delivery: DeliveryId;
  /** Empty: no gift wrapping. */
  readonly giftNote: string;
  /** Cents, with the delivery. */
  readonly total: number;
}

/** Pieces of one product in one colour. */
export const MAX_QUANTITY = 10;

/** The shop of one session, with one customer: its products, the basket, the orders that were placed. */
export class Shop {
  readonly catalogue: Catalogue;
  readonly #seed: number;
  #basket: readonly Line[] = [];
  #orders: readonly Order[] = [];

  constructor(seed: number) {
    this.#seed = seed;
    this.catalogue = new Catalogue(seed);
  }

  get basket(): readonly Line[] {
    return this.#basket;
  }

  get orders(): readonly Order[] {
    return this.#orders;
  }

  /** Adds to the basket. @returns what is wrong, in words for the customer. */
  add(product: Product, colour: ColourName, quantity: number): string | undefined {
    const held = this.#basket.find((line) => isSame(line, product.id, colour))?.quantity ?? 0;
    const problem = this.#problemOf(product, held + quantity);
    if (problem !== undefined) return problem;
    if (held > 0) return this.change(product.id, colour, held + quantity);
    this.#basket = [...this.#basket, { product, colour, quantity }];
    return undefined;
  }

  /** Sets the quantity of a line; 0 takes it out. @returns what is wrong, in words for the customer. */
  change(productId: string, colour: string, quantity: number): string | undefined {
    const line = this.#basket.find((each) => isSame(each, productId, colour));
    if (line === undefined) return 'That is not in your basket.';
    const problem = quantity === 0 ? undefined : this.#problemOf(line.product, quantity);
    if (problem !== undefined) return problem;
    this.#basket = this.#basket
      .map((each) => (each === line ? { ...line, quantity } : each))
      .filter((each) => each.quantity > 0);
    return undefined;
  }

  /** Orders what is in the basket, and empties it. @throws Error when there is nothing in it. */
  order(recipient: Recipient, delivery: DeliveryId, giftNote: string): Order {
    if (this.#basket.length === 0) throw new Error('There is nothing in the basket');
    const placed: Order = {
      ...recipient,
      number: `LF-${10_000 + ((this.#seed * 7_919 + this.#orders.length * 37) % 90_000)}`,
      lines: this.#basket,
      delivery,
      giftNote,
      total: totalOf(this.#basket) + DELIVERIES[delivery].price,
    };
    this.#orders = [...this.#orders, placed];
    this.#basket = [];
    return placed;
  }

  #problemOf(product: Product, quantity: number): string | undefined {
    if (product.stock === 0) return `${product.name} is sold out.`;
    if (!Number.isInteger(quantity) || quantity < 1 || quantity > MAX_QUANTITY) {
      return `You can order 1 to ${MAX_QUANTITY} of one article.`;
    }
    return undefined;
  }
}

/** Cents. */
export function totalOf(lines: readonly Line[]): number {
  return lines.reduce((sum, { product, quantity }) => sum + product.price * quantity, 0);
}

function isSame(line: Line, productId: string, colour: string): boolean {
  return line.product.id === productId && line.colour === colour;
}
