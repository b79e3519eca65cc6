import type { DatabaseFile, Order, Product, User } from './types.ts';

/** The records as they were read: shared by every session of the process, and frozen. */
export interface ShopRecords {
  readonly products: ReadonlyMap<string, Product>;
  readonly users: ReadonlyMap<string, User>;
  readonly orders: ReadonlyMap<string, Order>;
}

/**
 * One session's view of the shop. It starts out as the records that were read and keeps what was saved since beside them,
 * so that a fresh one costs nothing, whatever the size of the shop. Products never change.
 */
export class Database {
  readonly #records: ShopRecords;
  readonly #savedUsers = new Map<string, User>();
  readonly #savedOrders = new Map<string, Order>();

  constructor(records: ShopRecords) {
    this.#records = records;
  }

  /** Another view of the same shop, as if nothing had been saved here. */
  fresh(): Database {
    return new Database(this.#records);
  }

  order(orderId: string): Order | undefined {
    return this.#savedOrders.get(orderId) ?? this.#records.orders.get(orderId);
  }

  user(userId: string): User | undefined {
    return this.#savedUsers.get(userId) ?? this.#records.users.get(userId);
  }

  product(productId: string): Product | undefined {
    return this.#records.products.get(productId);
  }

  /** All of them, in the order of the file. */
  *users(): Generator<User> {
    for (const [userId, user] of this.#records.users) yield this.#savedUsers.get(userId) ?? user;
  }

  products(): Iterable<Product> {
    return this.#records.products.values();
  }

  /** Takes the place of the order with its id. */
  saveOrder(order: Order): void {
    this.#savedOrders.set(order.order_id, order);
  }

  /** Takes the place of the user with its id. */
  saveUser(user: User): void {
    this.#savedUsers.set(user.user_id, user);
  }

  /** Ids of what was saved: all that can differ from the records as they were read. */
  savedIds(): { readonly orders: readonly string[]; readonly users: readonly string[] } {
    return { orders: [...this.#savedOrders.keys()], users: [...this.#savedUsers.keys()] };
  }
}

export function toShopRecords(file: DatabaseFile): ShopRecords {
  return {
    products: new Map(Object.entries(file.products)),
    users: new Map(Object.entries(file.users)),
    orders: new Map(Object.entries(file.orders)),
  };
}
