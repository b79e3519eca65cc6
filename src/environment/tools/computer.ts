import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type ImageContent, image } from '../authoring/content.ts';
import { ToolError, type ToolResult } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import { NATIVE_META } from './native.ts';
import { textResult } from './tool-output.ts';

export type MouseButton = 'left' | 'right' | 'middle';
export interface ScreenPoint {
  readonly x: number;
  readonly y: number;
}

/** A screen with mouse and keyboard, in its own pixels. A browser environment gives one. */
export interface Screen {
  readonly width: number;
  readonly height: number;
  /** A PNG of the whole screen. */
  screenshot(signal: AbortSignal): Promise<Uint8Array>;
  move(to: ScreenPoint, signal: AbortSignal): Promise<void>;
  press(button: MouseButton, signal: AbortSignal): Promise<void>;
  release(button: MouseButton, signal: AbortSignal): Promise<void>;
  /** Clicks where the mouse is, `count` times. */
  click(button: MouseButton, count: number, signal: AbortSignal): Promise<void>;
  /** Scrolls by pixels, right and down. */
  scroll(right: number, down: number, signal: AbortSignal): Promise<void>;
  type(text: string, signal: AbortSignal): Promise<void>;
  /** Presses a key or a combination such as `ctrl+a`; it is held for `holdMs`. */
  key(combination: string, holdMs: number, signal: AbortSignal): Promise<void>;
  /** Where the mouse is. */
  position(): ScreenPoint;
}

const SCROLL_PIXELS = 100;
const MAX_WAIT_S = 100;
const CLICKS: Readonly<Record<string, readonly [MouseButton, number]>> = {
  left_click: ['left', 1],
  right_click: ['right', 1],
  middle_click: ['middle', 1],
  double_click: ['left', 2],
  triple_click: ['left', 3],
};
const point = z.array(z.int().min(0)).length(2);
const schema = {
  action: z.enum([
    'key',
    'hold_key',
    'type',
    'cursor_position',
    'mouse_move',
    'left_mouse_down',
    'left_mouse_up',
    'left_click',
    'left_click_drag',
    'right_click',
    'middle_click',
    'double_click',
    'triple_click',
    'scroll',
    'wait',
    'screenshot',
  ]),
  coordinate: point.optional().describe('[x, y] in pixels of the screenshot.'),
  start_coordinate: point.optional().describe('For left_click_drag: where the drag begins.'),
  text: z.string().optional().describe('For type: the text. For key and hold_key: keys such as ctrl+a.'),
  scroll_direction: z.enum(['up', 'down', 'left', 'right']).optional(),
  scroll_amount: z.int().min(0).optional().describe('For scroll: steps of the wheel.'),
  duration: z.number().min(0).max(MAX_WAIT_S).optional().describe('For wait and hold_key: seconds.'),
};
type ComputerArgs = z.infer<z.ZodObject<typeof schema>>;

/** Adds `computer`: mouse, keyboard and screenshots of a screen. */
export function computer(screen: Screen): ToolSet {
  return {
    role: 'computer',
    addTo(env) {
      const { width, height } = screen;
      const native = { role: 'computer', anthropic: 'computer_20250124', openai: 'computer', width, height };
      const description = `Uses a screen of ${width} by ${height} pixels with mouse and keyboard. Take a screenshot to see what an action did.`;
      const options = { description, args: schema, meta: { [NATIVE_META]: native } };
      env.tool('computer', options, async (args, { signal }) => await act(screen, args, signal));
    },
  };
}

async function act(screen: Screen, args: ComputerArgs, signal: AbortSignal): Promise<ToolResult | ImageContent> {
  const { action } = args;
  const click = CLICKS[action];
  if (click !== undefined) {
    if (args.coordinate !== undefined) await screen.move(pointOf(screen, args, 'coordinate'), signal);
    await screen.click(...click, signal);
    return textResult('Clicked.');
  }
  switch (action) {
    case 'screenshot':
      return image(await screen.screenshot(signal), 'image/png');
    case 'cursor_position': {
      const { x, y } = screen.position();
      return textResult(`X=${x},Y=${y}`);
    }
    case 'mouse_move':
      await screen.move(pointOf(screen, args, 'coordinate'), signal);
      return textResult('Moved.');
    case 'left_mouse_down':
      await screen.press('left', signal);
      return textResult('Pressed the left button.');
    case 'left_mouse_up':
      await screen.release('left', signal);
      return textResult('Released the left button.');
    case 'left_click_drag':
      return await drag(screen, args, signal);
    case 'scroll':
      return await scroll(screen, args, signal);
    case 'type':
      await screen.type(textOf(args), signal);
      return textResult('Typed.');
    case 'key':
    case 'hold_key':
      await screen.key(textOf(args), action === 'key' ? 0 : 1000 * durationOf(args), signal);
      return textResult(`Pressed ${args.text}.`);
    default:
      await sleep(1000 * durationOf(args), undefined, { signal });
      return textResult(`Waited ${args.duration}s.`);
  }
}

async function drag(screen: Screen, args: ComputerArgs, signal: AbortSignal): Promise<ToolResult> {
  const to = pointOf(screen, args, 'coordinate');
  if (args.start_coordinate !== undefined) await screen.move(pointOf(screen, args, 'start_coordinate'), signal);
  await screen.press('left', signal);
  try {
    await screen.move(to, signal);
  } finally {
    await screen.release('left', signal);
  }
  return textResult('Dragged.');
}

async function scroll(screen: Screen, args: ComputerArgs, signal: AbortSignal): Promise<ToolResult> {
  const { scroll_direction: direction, scroll_amount: amount } = args;
  if (direction === undefined) throw new ToolError('scroll_direction is required for scroll');
  if (amount === undefined) throw new ToolError('scroll_amount is required for scroll');
  if (args.coordinate !== undefined) await screen.move(pointOf(screen, args, 'coordinate'), signal);
  const pixels = amount * SCROLL_PIXELS * (direction === 'up' || direction === 'left' ? -1 : 1);
  const isAcross = direction === 'left' || direction === 'right';
  await screen.scroll(isAcross ? pixels : 0, isAcross ? 0 : pixels, signal);
  return textResult(`Scrolled ${direction}.`);
}

function pointOf(screen: Screen, args: ComputerArgs, name: 'coordinate' | 'start_coordinate'): ScreenPoint {
  const [x, y] = args[name] ?? [];
  if (x === undefined || y === undefined) throw new ToolError(`${name} is required for ${args.action}`);
  if (x >= screen.width || y >= screen.height) {
    throw new ToolError(
      `${name} [${x}, ${y}] is outside of the screen, which has ${screen.width} by ${screen.height} pixels`,
    );
  }
  return { x, y };
}

function textOf({ action, text }: ComputerArgs): string {
  if (text === undefined || text === '') throw new ToolError(`text is required for ${action}`);
  return text;
}

function durationOf({ action, duration }: ComputerArgs): number {
  if (duration === undefined) throw new ToolError(`duration is required for ${action}`);
  return duration;
}
