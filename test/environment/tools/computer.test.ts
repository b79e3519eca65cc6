import { describe, expect, it } from 'vitest';
import { image } from '../../../src/environment/authoring/content.ts';
import { computer } from '../../../src/environment/tools/computer.ts';
import type { Screen } from '../../../src/environment/tools/screen.ts';
import { openTools } from './tool-environment.ts';

async function open(failing?: string) {
  const inputs: string[] = [];
  const take = async (input: object) => {
    inputs.push(Object.values(input).join(' '));
    if (inputs.at(-1) === failing) throw new Error('The screen is gone');
  };
  const screen: Screen = {
    width: 800,
    height: 600,
    screenshot: async () => image(Uint8Array.of(1, 2, 3), 'image/png'),
    mouse: take,
    keys: take,
  };
  const { agent } = await openTools(computer(screen));
  return {
    inputs,
    act: async (action: string, args: object = {}) => await agent.call('computer', { action, ...args }),
  };
}

describe('the tool computer', () => {
  it.each([
    ['left_click', { coordinate: [10, 20] }, 'Clicked.', ['move 10 20', 'click left 1']],
    ['right_click', {}, 'Clicked.', ['click right 1']],
    ['triple_click', {}, 'Clicked.', ['click left 3']],
    [
      'left_click',
      { text: 'ctrl+shift' },
      'Clicked.',
      ['down ctrl', 'down shift', 'click left 1', 'up shift', 'up ctrl'],
    ],
    [
      'left_click_drag',
      { start_coordinate: [1, 2], coordinate: [3, 4] },
      'Dragged.',
      ['move 1 2', 'down left', 'move 3 4', 'up left'],
    ],
    ['mouse_move', { coordinate: [799, 599] }, 'Moved.', ['move 799 599']],
    ['left_mouse_down', {}, 'Pressed.', ['down left']],
    ['left_mouse_up', {}, 'Released.', ['up left']],
    ['key', { text: 'ctrl++' }, 'Pressed ctrl++.', ['down ctrl', 'down +', 'up +', 'up ctrl']],
    ['hold_key', { text: 'a', duration: 0 }, 'Pressed a.', ['down a', 'up a']],
    ['type', { text: 'a + b' }, 'Typed.', ['text a + b']],
    [
      'scroll',
      { coordinate: [1, 1], scroll_direction: 'up', scroll_amount: 3 },
      'Scrolled up.',
      ['move 1 1', 'scroll 0 -300'],
    ],
    ['wait', { duration: 0.01 }, 'Waited 0.01s.', []],
  ])('does %s with %j', async (action, args, text, expected) => {
    const { act, inputs } = await open();
    expect(await act(action, args)).toMatchObject({ is_error: false, text });
    expect(inputs).toEqual(expected);
  });

  it('gives a picture and the place of the mouse', async () => {
    const { act } = await open();
    expect((await act('screenshot')).content).toMatchObject([{ type: 'image', data: 'AQID', mimeType: 'image/png' }]);
    await act('mouse_move', { coordinate: [5, 6] });
    expect((await act('cursor_position')).text).toBe('X=5,Y=6');
  });

  it('refuses points that are not on the screen, and asks for what is missing', async () => {
    const { act, inputs } = await open();
    expect((await act('left_click', { coordinate: [800, 0] })).text).toContain(
      'out of bounds: the screen has 800 by 600',
    );
    expect((await act('left_click_drag', { start_coordinate: [0, 0], coordinate: [0, 600] })).is_error).toBe(true);
    expect((await act('type')).text).toBe('text is required for type');
    expect(inputs).toEqual([]);
  });

  it('lets go of keys and buttons after a failure', async () => {
    const keys = await open('click left 1');
    expect((await keys.act('left_click', { text: 'ctrl' })).is_error).toBe(true);
    expect(keys.inputs.at(-1)).toBe('up ctrl');
    const drag = await open('move 3 4');
    await drag.act('left_click_drag', { start_coordinate: [1, 2], coordinate: [3, 4] });
    expect(drag.inputs.at(-1)).toBe('up left');
  });

  it('does actions that come at once one after another', async () => {
    const { act, inputs } = await open();
    await Promise.all([act('key', { text: 'a+b' }), act('key', { text: 'c' })]);
    expect(inputs).toEqual(['down a', 'down b', 'up b', 'up a', 'down c', 'up c']);
  });
});
