/** Pixels of CSS, which are those of the screenshots. */
export interface Viewport {
  readonly width: number;
  readonly height: number;
}

/** Less is no page, more is a picture that no model takes. */
const SMALLEST: Viewport = { width: 320, height: 240 };
const LARGEST: Viewport = { width: 3_840, height: 2_160 };

/** @throws RangeError for a display that no page fits. */
export function toViewport(width: number, height: number): Viewport {
  const viewport = { width: Math.round(width), height: Math.round(height) };
  for (const side of ['width', 'height'] as const) {
    if (viewport[side] < SMALLEST[side] || viewport[side] > LARGEST[side]) {
      throw new RangeError(
        `display_${side} has to be ${SMALLEST[side]} to ${LARGEST[side]} pixels, got ${viewport[side]}`,
      );
    }
  }
  return viewport;
}
