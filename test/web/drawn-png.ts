import { PNG } from 'pngjs';

/** A filled rectangle, in pixels; colours are 0xrrggbb. */
export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly colour: number;
}

/** A picture of rectangles, later ones over earlier ones, as the bytes of a PNG. */
export function drawPng(width: number, height: number, rectangles: readonly Rectangle[]): Buffer {
  const picture = new PNG({ width, height, fill: true });
  for (const { x, y, width: w, height: h, colour } of rectangles) {
    for (let row = y; row < Math.min(height, y + h); row++) {
      for (let column = x; column < Math.min(width, x + w); column++) {
        picture.data.writeUInt32BE(colour * 0x100 + 0xff, (row * width + column) * 4);
      }
    }
  }
  return PNG.sync.write(picture, { colorType: 2 });
}
