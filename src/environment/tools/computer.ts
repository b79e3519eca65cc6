import { z } from 'zod';
import { sleep } from '../../support/runtime/backoff.ts';
import type { ImageContent } from '../authoring/content.ts';
import { ToolError } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import { nativeMeta } from './native.ts';
import type { MouseButton, Screen } from './screen.ts';

const CLICKS = {
  left_click: { button: 'left', count: 1 },
  right_click: { button: 'right', count: 1 },
  middle_click: { button: 'middle', count: 1 },
  double_click: { button: 'left', count: 2 },
  triple_click: { button: 'left', count: 3 },
} as const satisfies Readonly<Record<string, { readonly button: MouseButton; readonly count: number }>>;
const OTHERS = [
  ...(['key', 'hold_key', 'type', 'cursor_position', 'mouse_move', 'left_mouse_down', 'left_mouse_up'] as const),
  ...(['left_click_drag', 'scroll', 'wait', 'screenshot'] as const),
] as const;
const DIRECTIONS = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] } as const;
/** Points that a notch of the wheel scrolls. */
const NOTCH = 100;
const MAX_NOTCHES = 100;
const MAX_SECONDS = 100;

const coordinate = z.array(z.int()).length(2);
const ARGS = {
  action: z.enum([...(Object.keys(CLICKS) as (keyof typeof CLICKS)[]), ...OTHERS]).describe('The action.'),
  coordinate: coordinate.optional().describe('x and y. For clicks and scroll: where the mouse goes first.'),
  start_coordinate: coordinate.optional().describe('For left_click_drag: where the drag begins.'),
  text: z
    .string()
    .optional()
    .describe('For type: the text. For key and hold_key: keys such as ctrl+a. For clicks: modifiers.'),
  scroll_direction: z.enum(['up', 'down', 'left', 'right']).optional().describe('For scroll.'),
  scroll_amount: z.int().min(0).max(MAX_NOTCHES).optional().describe('For scroll: notches of the wheel.'),
  duration: z.number().min(0).max(MAX_SECONDS).optional().describe('For wait and hold_key: seconds.'),
};

type ComputerArgs = Readonly<z.infer<z.ZodObject<typeof ARGS>>>;
type Point = readonly [x: number, y: number];

/**
 * The tool `computer`: mouse, keyboard and screenshots of a screen. Names, arguments and actions are those of Anthropic's
 * `computer_20250124`. Coordinates are points of the screen, which is not scaled.
 */
export function computer(screen: Screen): ToolSet {
  const { width, height } = screen;
  return {
    role: 'computer',
    addTo(env) {
      const hand = new Hand(screen);
      env.tool(
        'computer',
        {
          description: `Uses a screen of ${width} by ${height} points with mouse and keyboard. An action shows nothing: take a screenshot to see what it did.`,
          args: ARGS,
          annotations: { destructiveHint: true, openWorldHint: true },
          meta: nativeMeta(
            'computer',
            { anthropic: 'computer_20250124' },
            { display_width_px: width, display_height_px: height },
          ),
        },
        (args, { signal }) => hand.do(args, signal),
      );
    },
  };
}

/** The one who uses a screen: actions come one after another, and no key or button stays pressed after a failure. */
class Hand {
  readonly #screen: Screen;
  #at: Point = [0, 0];
  #queue: Promise<unknown> = Promise.resolve();

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  do(args: ComputerArgs, signal: AbortSignal): Promise<string | ImageContent> {
    const turn = this.#queue.then(() => this.#do(args, signal));
    this.#queue = turn.catch(() => {});
    return turn;
  }

  async #do(args: ComputerArgs, signal: AbortSignal): Promise<string | ImageContent> {
    signal.throwIfAborted();
    const { action } = args;
    if (action in CLICKS) return await this.#click(CLICKS[action as keyof typeof CLICKS], args, signal);
    switch (action) {
      case 'screenshot':
        return await this.#screen.screenshot(signal);
      case 'cursor_position':
        return `X=${this.#at[0]},Y=${this.#at[1]}`;
      case 'wait':
        await sleep(need(args.duration, 'duration', action) * 1_000, signal);
        return `Waited ${args.duration}s.`;
      case 'type':
        await this.#screen.keys({ type: 'text', text: need(args.text, 'text', action) }, signal);
        return 'Typed.';
      case 'key':
      case 'hold_key': {
        const keys = need(args.text, 'text', action);
        const seconds = action === 'key' ? 0 : need(args.duration, 'duration', action);
        await this.#whilePressed(keys, () => sleep(seconds * 1_000, signal), signal);
        return `Pressed ${keys}.`;
      }
      case 'scroll': {
        const direction = need(args.scroll_direction, 'scroll_direction', action);
        const points = need(args.scroll_amount, 'scroll_amount', action) * NOTCH;
        if (args.coordinate !== undefined) await this.#move(args.coordinate, signal);
        const [x, y] = DIRECTIONS[direction];
        await this.#screen.mouse({ type: 'scroll', dx: x * points, dy: y * points }, signal);
        return `Scrolled ${direction}.`;
      }
      default:
        return await this.#drag(action, args, signal);
    }
  }

  async #click(click: (typeof CLICKS)[keyof typeof CLICKS], args: ComputerArgs, signal: AbortSignal): Promise<string> {
    if (args.coordinate !== undefined) await this.#move(args.coordinate, signal);
    await this.#whilePressed(args.text ?? '', () => this.#screen.mouse({ type: 'click', ...click }, signal), signal);
    return 'Clicked.';
  }

  async #drag(action: ComputerArgs['action'], args: ComputerArgs, signal: AbortSignal): Promise<string> {
    if (action === 'left_mouse_down' || action === 'left_mouse_up') {
      await this.#screen.mouse({ type: action === 'left_mouse_down' ? 'down' : 'up', button: 'left' }, signal);
      return action === 'left_mouse_down' ? 'Pressed.' : 'Released.';
    }
    const end = need(args.coordinate, 'coordinate', action);
    if (action === 'mouse_move') {
      await this.#move(end, signal);
      return 'Moved.';
    }
    this.#check(end);
    await this.#move(need(args.start_coordinate, 'start_coordinate', action), signal);
    await this.#screen.mouse({ type: 'down', button: 'left' }, signal);
    try {
      await this.#move(end, signal);
    } finally {
      await this.#screen.mouse({ type: 'up', button: 'left' }, released());
    }
    return 'Dragged.';
  }

  async #move(to: readonly number[], signal: AbortSignal): Promise<void> {
    const [x, y] = this.#check(to);
    await this.#screen.mouse({ type: 'move', x, y }, signal);
    this.#at = [x, y];
  }

  /** @throws ToolError for a point that is not on the screen. */
  #check([x = 0, y = 0]: readonly number[]): Point {
    const { width, height } = this.#screen;
    if (x >= 0 && y >= 0 && x < width && y < height) return [x, y];
    throw new ToolError(`Coordinates ${x}, ${y} are out of bounds: the screen has ${width} by ${height} points.`);
  }

  async #whilePressed(keys: string, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    // The key + may follow a +.
    const names = keys.match(/(?:^|(?<=\+))(?:\+|[^+]+)(?=\+|$)/g) ?? [];
    const pressed: string[] = [];
    try {
      for (const key of names) {
        pressed.unshift(key);
        await this.#screen.keys({ type: 'down', key }, signal);
      }
      await work();
    } finally {
      for (const key of pressed) await this.#screen.keys({ type: 'up', key }, released());
    }
  }
}

/** Milliseconds to let go of a key or a button. */
const RELEASE_MS = 10_000;

/** A signal for what has to be let go of, also after the call was cancelled. */
function released(): AbortSignal {
  return AbortSignal.timeout(RELEASE_MS);
}

function need<T>(value: T | undefined, name: string, action: string): T {
  if (value === undefined) throw new ToolError(`${name} is required for ${action}`);
  return value;
}
