import type { ScenarioTask } from 'proctor';
import type { Buy } from './buy.ts';
import type { Find } from './find.ts';

/** Tasks on one article are a cluster: whoever finds it once finds it again. */
export const BUY_TASKS: readonly ScenarioTask<typeof Buy>[] = [
  { id: 'buy-lamp', args: { product: 'orla-table-lamp' }, split: 'train', tags: ['plain'], cluster: 'lamp' },
  {
    id: 'buy-lamp-express',
    args: { product: 'orla-table-lamp', delivery: 'express' },
    split: 'train',
    tags: ['delivery'],
    cluster: 'lamp',
  },
  { id: 'buy-mugs', args: { product: 'ronja-mug', quantity: 4 }, split: 'train', tags: ['quantity'], cluster: 'mug' },
  {
    id: 'buy-mug-in-colour',
    args: { product: 'ronja-mug', colour: 'ink' },
    split: 'test',
    tags: ['colour'],
    cluster: 'mug',
  },
  {
    id: 'buy-blanket-as-gift',
    args: { product: 'skerry-wool-blanket', gift_note: 'For the long evenings' },
    split: 'train',
    tags: ['gift'],
    cluster: 'blanket',
  },
  {
    id: 'buy-blanket-for-another',
    args: {
      product: 'skerry-wool-blanket',
      name: 'Jonas Verlaine',
      street: 'Harbour Row 17',
      postcode: '9032',
      city: 'Westmere',
    },
    split: 'validation',
    tags: ['address'],
    cluster: 'blanket',
  },
  {
    id: 'buy-planter-collected',
    args: { product: 'cove-planter', delivery: 'pickup' },
    split: 'test',
    tags: ['delivery'],
  },
  { id: 'buy-cushions', args: { product: 'burr-cushion', quantity: 2, seed: 7 }, split: 'test', tags: ['quantity'] },
  {
    id: 'buy-box-with-everything',
    args: {
      product: 'nook-box',
      quantity: 3,
      delivery: 'express',
      name: 'Mira Tannhof',
      street: 'Weir Steps 2',
      postcode: '1177',
      city: 'Norrby',
      gift_note: 'Put the keys in here.',
      seed: 12,
    },
    split: 'test',
    tags: ['quantity', 'delivery', 'address', 'gift'],
  },
];

/** The same question of several shops, whose prices, ratings and stock differ. */
export const FIND_TASKS: readonly ScenarioTask<typeof Find>[] = [
  { id: 'find-lamp', args: { category: 'lamps' }, split: 'train', tags: ['usual'], cluster: 'lamps' },
  {
    id: 'find-lamp-elsewhere',
    args: { category: 'lamps', seed: 40 },
    split: 'test',
    tags: ['usual'],
    cluster: 'lamps',
  },
  { id: 'find-tableware', args: { category: 'tableware' }, split: 'train', tags: ['usual'] },
  { id: 'find-best-textile', args: { category: 'textiles', min_rating: 4.5 }, split: 'validation', tags: ['strict'] },
  { id: 'find-any-planter', args: { category: 'planters', min_rating: 3 }, split: 'test', tags: ['lenient'] },
  { id: 'find-storage', args: { category: 'storage', seed: 3 }, split: 'test', tags: ['usual'] },
  { id: 'find-best-clock', args: { category: 'clocks', min_rating: 4.5, seed: 9 }, split: 'test', tags: ['strict'] },
];
