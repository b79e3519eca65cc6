import { useEffect } from 'preact/hooks';
import { goTo, idInView } from './go-to.ts';
import { type Entry, hasProblem } from './timeline.ts';

/** Where a step begins when it was gone to, and a little more. In pixels. */
const READ_PX = 140;

export interface KeyActions {
  readonly entries: readonly Entry[];
  readonly isLive: boolean;
  focusSearch(): void;
  showHelp(): void;
}

/** The keys of the page: those of `HelpDialog`. Who writes in a field or has a dialog open is left alone. */
export function useKeys(actions: KeyActions): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTaken(event.target)) return;
      const act = toAction(event.key, actions);
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}

/** Where a key is meant for something else: a field that is written in, an open dialog. */
export function isTaken(target: EventTarget | null): boolean {
  const isField = target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null;
  return isField || document.querySelector('dialog[open]') !== null;
}

function toAction(key: string, { entries, isLive, focusSearch, showHelp }: KeyActions): (() => void) | undefined {
  const places = entries.filter(({ kind }) => kind !== 'logs' && kind !== 'environment');
  const isBad = (entry: Entry) => entry.kind === 'step' && hasProblem(entry, isLive);
  const ids = places.map(({ id }) => id);
  const place = () => {
    const id = idInView(ids, READ_PX);
    const isAbove = id !== undefined && (document.getElementById(id)?.getBoundingClientRect().top ?? 0) > READ_PX;
    return isAbove ? -1 : ids.indexOf(id ?? '');
  };
  switch (key) {
    case 'j':
      return () => goTo(ids[Math.min(ids.length - 1, place() + 1)] ?? '');
    case 'k':
      return () => (place() <= 0 ? scrollTo(0, 0) : goTo(ids[place() - 1] ?? ''));
    case 'e':
      return () => {
        const at = place();
        const bad = places.findIndex((entry, index) => index > at && isBad(entry));
        goTo((bad === -1 ? places.find(isBad) : places[bad])?.id ?? '');
      };
    case 'g':
      return () => scrollTo(0, 0);
    case 'G':
      return () => goTo(ids.at(-1) ?? '');
    case '/':
      return focusSearch;
    case '?':
      return showHelp;
    default:
      return undefined;
  }
}
