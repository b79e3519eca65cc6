import { crc32, deflateSync } from 'node:zlib';

/** A filled rectangle, in pixels; colours are 0xrrggbb. */
export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly colour: number;
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const EIGHT_BIT_RGB = [8, 2, 0, 0, 0] as const;

/** A picture of rectangles, later ones over earlier ones, as the bytes of a PNG. */
export function drawPng(width: number, height: number, rectangles: readonly Rectangle[]): Buffer {
  const rowLength = 1 + width * 3;
  const pixels = Buffer.alloc(rowLength * height);
  for (const { x, y, width: w, height: h, colour } of rectangles) {
    for (let row = y; row < Math.min(height, y + h); row++) {
      for (let column = x; column < Math.min(width, x + w); column++) {
        pixels.writeUIntBE(colour, row * rowLength + 1 + column * 3, 3);
      }
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set(EIGHT_BIT_RGB, 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}
