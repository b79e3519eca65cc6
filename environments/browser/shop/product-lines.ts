/** What the shop sells, whatever its seed: names and words. Prices, ratings, weights and stock come from the seed. */
export const CATEGORIES = {
  lamps: { title: 'Lamps', words: 'Light for desks, corners and late evenings.' },
  tableware: { title: 'Tableware', words: 'Cups and bowls, thrown and glazed by hand.' },
  textiles: { title: 'Textiles', words: 'Blankets and throws of wool, linen and cotton.' },
  planters: { title: 'Planters', words: 'Pots that look well with a plant and without one.' },
  storage: { title: 'Storage', words: 'Baskets and boxes for what lies about.' },
  clocks: { title: 'Clocks', words: 'Quiet movements, clear faces.' },
} as const;

export type CategoryId = keyof typeof CATEGORIES;

export interface ProductLine {
  readonly id: string;
  readonly name: string;
  readonly category: CategoryId;
  readonly words: string;
  readonly material: string;
  readonly colours: readonly ColourName[];
  /** Euros around which the seed sets the price. */
  readonly usualPrice: number;
  /** Grams around which the seed sets the weight. */
  readonly usualWeight: number;
}

export const COLOURS = {
  moss: '#6f7f55',
  sand: '#d8c3a0',
  clay: '#b9694a',
  ink: '#33415c',
  chalk: '#ece7dc',
  mustard: '#d3a23c',
  plum: '#7c4a64',
  mist: '#9fb4bd',
} as const;

export type ColourName = keyof typeof COLOURS;

const line = (
  category: CategoryId,
  name: string,
  words: string,
  material: string,
  colours: readonly ColourName[],
  usualPrice: number,
  usualWeight: number,
): ProductLine => ({
  id: name.toLowerCase().replaceAll(' ', '-'),
  name,
  category,
  words,
  material,
  colours,
  usualPrice,
  usualWeight,
});

export const PRODUCT_LINES: readonly ProductLine[] = [
  line(
    'lamps',
    'Halden Desk Lamp',
    'A small lamp with a wide shade that keeps its light on the page.',
    'Steel, linen shade',
    ['moss', 'sand', 'ink'],
    64,
    1_400,
  ),
  line(
    'lamps',
    'Orla Table Lamp',
    'A rounded base and a soft shade, for a window sill or a sideboard.',
    'Stoneware, cotton shade',
    ['clay', 'chalk', 'mist'],
    78,
    2_100,
  ),
  line(
    'lamps',
    'Tove Reading Lamp',
    'Stands beside the armchair and bends to the book.',
    'Brass, steel',
    ['mustard', 'ink'],
    112,
    3_600,
  ),
  line(
    'lamps',
    'Pim Night Light',
    'A glow for the corridor. Dims with a touch.',
    'Opal glass, oak',
    ['chalk', 'plum', 'mist'],
    36,
    620,
  ),
  line(
    'tableware',
    'Ronja Mug',
    'A mug for both hands, with a thumb rest.',
    'Stoneware',
    ['clay', 'chalk', 'ink', 'moss'],
    18,
    380,
  ),
  line(
    'tableware',
    'Ronja Bowl',
    'Deep enough for soup and wide enough for salad.',
    'Stoneware',
    ['clay', 'chalk', 'ink'],
    24,
    560,
  ),
  line(
    'tableware',
    'Ashby Espresso Cup',
    'Four sips, kept hot by a thick wall.',
    'Porcelain',
    ['chalk', 'plum', 'mustard'],
    14,
    190,
  ),
  line(
    'tableware',
    'Ashby Serving Dish',
    'For a roast, a cake, or all the fruit of the week.',
    'Porcelain',
    ['chalk', 'mist'],
    46,
    1_250,
  ),
  line(
    'textiles',
    'Skerry Wool Blanket',
    'Woven in one piece, with a fringe at either end.',
    'Lambswool',
    ['moss', 'sand', 'plum'],
    129,
    1_300,
  ),
  line('textiles', 'Linnet Throw', 'Light, cool, softer with every wash.', 'Linen', ['mist', 'chalk', 'clay'], 84, 780),
  line(
    'textiles',
    'Fold Cotton Quilt',
    'Two layers, hand-stitched; warm in spring and enough in summer.',
    'Cotton',
    ['ink', 'mustard'],
    98,
    1_650,
  ),
  line(
    'textiles',
    'Burr Cushion',
    'A firm cushion with a cover that comes off.',
    'Wool, feather',
    ['clay', 'moss', 'ink', 'sand'],
    39,
    540,
  ),
  line(
    'planters',
    'Cove Planter',
    'A plain round pot with a saucer that fits.',
    'Terracotta',
    ['clay', 'sand'],
    22,
    1_150,
  ),
  line(
    'planters',
    'Stilt Planter',
    'Lifts the fern off the floor on three oak legs.',
    'Stoneware, oak',
    ['chalk', 'moss', 'ink'],
    68,
    3_200,
  ),
  line('planters', 'Herb Trough', 'Room for four herbs on a kitchen sill.', 'Zinc', ['mist', 'moss'], 34, 1_700),
  line(
    'planters',
    'Bell Hanging Pot',
    'Hangs from a hook by a braided cord.',
    'Stoneware, jute',
    ['chalk', 'plum', 'mustard'],
    29,
    900,
  ),
  line('storage', 'Osier Basket', 'Woven of willow, with two handles that hold.', 'Willow', ['sand', 'moss'], 42, 980),
  line(
    'storage',
    'Nook Box',
    'A box with a lid, in a size that fits every shelf.',
    'Ash plywood',
    ['sand', 'ink', 'clay'],
    31,
    1_100,
  ),
  line(
    'storage',
    'Felt Bin',
    'Stands by itself, folds flat when it is not needed.',
    'Wool felt',
    ['mist', 'plum', 'ink'],
    27,
    450,
  ),
  line('storage', 'Log Carrier', 'For wood, newspapers, or a picnic.', 'Waxed canvas', ['moss', 'mustard'], 58, 860),
  line(
    'clocks',
    'Meridian Wall Clock',
    'Large figures that can be read from the next room.',
    'Birch, steel',
    ['chalk', 'ink', 'moss'],
    74,
    1_050,
  ),
  line(
    'clocks',
    'Quarter Mantel Clock',
    'Strikes the quarters, or does not, as you like.',
    'Walnut, brass',
    ['mustard', 'plum'],
    139,
    1_900,
  ),
  line(
    'clocks',
    'Dot Alarm Clock',
    'One button, one hand for the alarm, no light at night.',
    'Enamelled steel',
    ['clay', 'mist', 'chalk'],
    33,
    310,
  ),
  line(
    'clocks',
    'Plain Kitchen Timer',
    'Sixty minutes and a bell.',
    'Enamelled steel',
    ['chalk', 'mustard', 'clay'],
    19,
    220,
  ),
];
