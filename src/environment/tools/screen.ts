import type { ImageContent } from '../authoring/content.ts';

/** A mouse button. */
export type MouseButton = 'left' | 'right' | 'middle';

/** A move or press of the mouse, in points of the screen from its upper left corner. */
export type MouseAction =
  | { readonly type: 'move'; readonly x: number; readonly y: number }
  | { readonly type: 'down' | 'up'; readonly button: MouseButton }
  /** Presses and releases a button `count` times where the mouse is. */
  | { readonly type: 'click'; readonly button: MouseButton; readonly count: number }
  /** Turns the wheel by points: right and down are positive. */
  | { readonly type: 'scroll'; readonly dx: number; readonly dy: number };

/** Input of the keyboard. Keys have the names of xdotool, such as `Return`, `ctrl` and `a`. */
export type KeyAction =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'down' | 'up'; readonly key: string };

/**
 * A screen with a mouse and a keyboard, for the tool `computer`. Each method settles when the screen has taken the input,
 * and rejects when the signal is aborted.
 */
export interface Screen {
  /** Size in points, which is that of screenshots and of coordinates. */
  readonly width: number;
  readonly height: number;
  /** A picture, as `image` makes it. */
  screenshot(signal: AbortSignal): Promise<ImageContent>;
  mouse(action: MouseAction, signal: AbortSignal): Promise<void>;
  keys(action: KeyAction, signal: AbortSignal): Promise<void>;
}
