import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MOST_COLOURS = 256;
/** Of a channel, by which colours are taken together that look alike. */
const BUCKET_BITS = 5;
const PALETTE_KIND = [8, 3, 0, 0, 0] as const;
/** Of a pixel, by the kind of the PNG: RGB, a palette, RGBA. */
const BYTES_OF_KIND: ReadonlyMap<number, number> = new Map([
  [2, 3],
  [3, 1],
  [6, 4],
]);
/** Squared, over the three channels. */
const SEEN_DISTANCE = 3 * 40 ** 2;

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** 0xrrggbb of each, row by row. */
  readonly colours: Uint32Array;
}

/**
 * The picture with at most 256 colours, which is what a page has but for the edges of its letters: a third of the bytes.
 *
 * @throws Error for a PNG that is not one of Chromium's screenshots (8 bits, RGB or RGBA, not interlaced).
 */
export function toSmallPng(png: Buffer): Buffer {
  const { width, height, colours } = readPixels(png);
  const palette = choosePalette(colours);
  const indexOf = nearestOf(palette);
  const rows = Buffer.alloc((width + 1) * height);
  colours.forEach((colour, at) => {
    rows[at + Math.floor(at / width) + 1] = indexOf(colour);
  });
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  return Buffer.concat([
    SIGNATURE,
    toChunk('IHDR', Buffer.concat([size, Buffer.from(PALETTE_KIND)])),
    toChunk('PLTE', Buffer.from(palette.flatMap(channelsOf))),
    toChunk('IDAT', deflateSync(rows, { level: 9 })),
    toChunk('IEND', Buffer.alloc(0)),
  ]);
}

/**
 * How many pixels of two pictures differ so much that it is to be seen; all of them where their sizes do.
 *
 * @throws Error as `toSmallPng`; a small one can be read too.
 */
export function countDifferences(one: Buffer, other: Buffer): number {
  const [a, b] = [readPixels(one), readPixels(other)];
  if (a.width !== b.width || a.height !== b.height) return Math.max(a.colours.length, b.colours.length);
  return a.colours.reduce(
    (count, colour, at) => count + Number(distance(channelsOf(colour), channelsOf(b.colours[at] ?? 0)) > SEEN_DISTANCE),
    0,
  );
}

function readPixels(png: Buffer): Pixels {
  const parts: Buffer[] = [];
  let palette = Buffer.alloc(0);
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const data = png.subarray(at + 8, at + 8 + length);
    const type = png.toString('latin1', at + 4, at + 8);
    if (type === 'IDAT') parts.push(data);
    if (type === 'PLTE') palette = Buffer.from(data);
    at += length + 12;
  }
  const [width, height, depth, kind = -1, interlaced] = [
    png.readUInt32BE(16),
    png.readUInt32BE(20),
    png[24],
    png[25],
    png[28],
  ];
  const step = BYTES_OF_KIND.get(kind);
  if (depth !== 8 || step === undefined || interlaced !== 0) {
    throw new Error(
      `A PNG of kind ${kind} with ${depth} bits cannot be read: take RGB, RGBA or a palette of 8 bits, not interlaced.`,
    );
  }
  const bytes = undoFilters(inflateSync(Buffer.concat(parts)), width * step, step);
  const colours = new Uint32Array(width * height);
  for (let at = 0; at < colours.length; at++) {
    colours[at] = step === 1 ? palette.readUIntBE((bytes[at] ?? 0) * 3, 3) : bytes.readUIntBE(at * step, 3);
  }
  return { width, height, colours };
}

/** Each row begins with how it was written: as differences to the left (1), above (2), both (3), or to what is likely (4). */
function undoFilters(filtered: Buffer, rowLength: number, step: number): Buffer {
  const bytes = Buffer.alloc((filtered.length / (rowLength + 1)) * rowLength);
  for (let row = 0; row * rowLength < bytes.length; row++) {
    const filter = filtered[row * (rowLength + 1)];
    for (let column = 0; column < rowLength; column++) {
      const at = row * rowLength + column;
      const left = column < step ? 0 : (bytes[at - step] ?? 0);
      const above = row === 0 ? 0 : (bytes[at - rowLength] ?? 0);
      const corner = row === 0 || column < step ? 0 : (bytes[at - rowLength - step] ?? 0);
      const likely = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter ?? 0] ?? 0;
      bytes[at] = (filtered[at + row + 1] ?? 0) + likely;
    }
  }
  return bytes;
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [toLeft, toAbove, toCorner] = [Math.abs(guess - left), Math.abs(guess - above), Math.abs(guess - corner)];
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}

/** The colours themselves where they are few; otherwise the commonest of each of the commonest kinds. */
function choosePalette(colours: Uint32Array): readonly number[] {
  const counts = new Map<number, number>();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const common = [...counts].sort(([a, most], [b, other]) => other - most || a - b);
  if (common.length <= MOST_COLOURS) return common.map(([colour]) => colour);
  const buckets = new Map<number, { readonly colour: number; count: number }>();
  for (const [colour, count] of common) {
    const bucket = channelsOf(colour).reduce(
      (key, channel) => (key << BUCKET_BITS) | (channel >> (8 - BUCKET_BITS)),
      0,
    );
    const known = buckets.get(bucket);
    if (known === undefined) buckets.set(bucket, { colour, count });
    else known.count += count;
  }
  const kinds = [...buckets.values()].sort((a, b) => b.count - a.count || a.colour - b.colour);
  return kinds.slice(0, MOST_COLOURS).map(({ colour }) => colour);
}

function nearestOf(palette: readonly number[]): (colour: number) => number {
  const known = new Map(palette.map((colour, index) => [colour, index]));
  return (colour) => {
    let nearest = known.get(colour);
    if (nearest !== undefined) return nearest;
    const distances = palette.map((each) => distance(channelsOf(each), channelsOf(colour)));
    nearest = distances.indexOf(Math.min(...distances));
    known.set(colour, nearest);
    return nearest;
  };
}

function distance(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, channel, index) => sum + (channel - (b[index] ?? 0)) ** 2, 0);
}

function channelsOf(colour: number): number[] {
  return [colour >> 16, (colour >> 8) & 0xff, colour & 0xff];
}

function toChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}
