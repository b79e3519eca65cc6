import { DataDirectory, ownDataDirectory } from './desk/data-directory.ts';
import { Database } from './desk/database.ts';
import type { DeskResult } from './desk/desk-tool.ts';
import { deskTools } from './desk/tools.ts';
import type { Order, User } from './desk/types.ts';

/** A desk over a fresh copy of the environment's own shop, for tests. */
export class TestDesk {
  readonly database = new Database(DataDirectory.open(ownDataDirectory).records());

  call(name: string, args: Record<string, unknown>): DeskResult {
    const tool = deskTools.find((each) => each.name === name);
    if (tool === undefined) throw new Error(`No tool ${name}`);
    return tool.run(this.database, args);
  }

  callForOrder(name: string, args: Record<string, unknown>): Order {
    const result = this.call(name, args);
    if (typeof result === 'string' || !('order_id' in result)) throw new Error(`${name} gave no order`);
    return result;
  }

  /** The text of the tool's refusal. */
  refusal(name: string, args: Record<string, unknown>): string {
    try {
      this.call(name, args);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
    throw new Error(`${name} was not refused`);
  }

  order(id: string): Order {
    const order = this.database.order(id);
    if (order === undefined) throw new Error(`No order ${id}`);
    return order;
  }

  user(id: string): User {
    const user = this.database.user(id);
    if (user === undefined) throw new Error(`No user ${id}`);
    return user;
  }

  balance(userId: string, methodId: string): number | undefined {
    const method = this.user(userId).payment_methods[methodId];
    return method?.source === 'gift_card' ? method.balance : undefined;
  }

  /** Puts the order into a state that the shop's file does not have. */
  given(id: string, change: Partial<Order>): void {
    this.database.saveOrder({ ...this.order(id), ...change });
  }
}
