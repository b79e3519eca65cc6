import type { Database } from './database.ts';
import { findLine, findReplacement, refuse } from './lookups.ts';
import type { Order, Variant } from './types.ts';

/** An item of an order and the one that is to replace it. */
export interface Swap {
  readonly itemId: string;
  readonly newItemId: string;
}

/** Position by position; undefined when the two lists are not of the same length. */
export function pairSwaps(itemIds: readonly string[], newItemIds: readonly string[]): readonly Swap[] | undefined {
  const swaps = newItemIds.flatMap((newItemId, index) => {
    const itemId = itemIds[index];
    return itemId === undefined ? [] : [{ itemId, newItemId }];
  });
  return swaps.length === itemIds.length && swaps.length === newItemIds.length ? swaps : undefined;
}

/**
 * What the swaps cost the customer, unrounded (negative: what they give back), and the replacement of the last one.
 * Summed as (new price - old price) from the left: any other order of summation gives other last digits.
 *
 * @throws DeskError for the first swap that is not possible.
 */
export function priceSwaps(
  database: Database,
  order: Order,
  swaps: readonly Swap[],
  options: { readonly allowSameItem: boolean },
): { readonly difference: number; readonly lastReplacement: Variant | undefined } {
  let difference = 0;
  let lastReplacement: Variant | undefined;
  for (const { itemId, newItemId } of swaps) {
    if (!options.allowSameItem && itemId === newItemId) {
      refuse('The new item id should be different from the old item id');
    }
    const line = findLine(order, itemId);
    lastReplacement = findReplacement(database, line, newItemId);
    difference += lastReplacement.price - line.price;
  }
  return { difference, lastReplacement };
}
