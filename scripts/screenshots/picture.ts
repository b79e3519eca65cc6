import { PNG } from 'pngjs';

/** Channels are rounded to multiples of it: too little to be seen, and a fifth of the bytes. */
const ROUNDED_TO = 4;
/** Squared, over the three channels. */
const SEEN_DISTANCE = 3 * 40 ** 2;

/** The same picture in fewer bytes: without alpha, and packed for the large areas of one colour that a page has. */
export function repack(png: Buffer): Buffer {
  const picture = PNG.sync.read(png);
  for (const [at, value] of picture.data.entries()) {
    picture.data[at] = Math.min(255, Math.round(value / ROUNDED_TO) * ROUNDED_TO);
  }
  return PNG.sync.write(picture, { colorType: 2, deflateLevel: 9, deflateStrategy: 0, filterType: 0 });
}

/** How many pixels of two pictures differ so much that it is to be seen; all of them where their sizes do. */
export function countDifferences(one: Buffer, other: Buffer): number {
  const [a, b] = [PNG.sync.read(one), PNG.sync.read(other)];
  if (a.width !== b.width || a.height !== b.height) return Math.max(a.width * a.height, b.width * b.height);
  let count = 0;
  for (let at = 0; at < a.data.length; at += 4) if (distance(a.data, b.data, at) > SEEN_DISTANCE) count += 1;
  return count;
}

function distance(a: Buffer, b: Buffer, at: number): number {
  return [0, 1, 2].reduce((sum, channel) => sum + ((a[at + channel] ?? 0) - (b[at + channel] ?? 0)) ** 2, 0);
}
