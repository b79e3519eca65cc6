/** Frames for which a place is held while what is above it is drawn. */
const SETTLING_FRAMES = 24;
/** These actions of the person cancel the scrolling. */
const STOP_EVENTS = ['wheel', 'touchstart', 'keydown', 'pointerdown'] as const;

let going = 0;

/** Scrolls to an entry of the transcript, and names it in the address. False where it is not there (yet). */
export function goTo(id: string): boolean {
  const element = document.getElementById(id);
  if (element === null) return false;
  history.replaceState(history.state, '', `#${id}`);
  const round = ++going;
  const stop = () => {
    if (round === going) going++;
  };
  const settle = (frame: number) => {
    if (round !== going) return;
    // Not in the first frame: the key that led here is still on its way.
    if (frame === 1) for (const name of STOP_EVENTS) addEventListener(name, stop, { once: true, passive: true });
    element.scrollIntoView({ block: 'start' });
    if (frame < SETTLING_FRAMES) requestAnimationFrame(() => settle(frame + 1));
    else for (const name of STOP_EVENTS) removeEventListener(name, stop);
  };
  settle(0);
  element.animate([{ boxShadow: '0 0 0 3px var(--accent)' }, { boxShadow: '0 0 0 3px transparent' }], 900);
  return true;
}

/** The entry that is being read: the last one that begins above this height of the window, in pixels. */
export function idInView(ids: readonly string[], belowPx: number): string | undefined {
  let low = 0;
  let high = ids.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const top = document.getElementById(ids[middle] ?? '')?.getBoundingClientRect().top ?? Number.POSITIVE_INFINITY;
    if (top <= belowPx) low = middle;
    else high = middle - 1;
  }
  return ids[low];
}
