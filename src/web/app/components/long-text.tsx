import { useState } from 'preact/hooks';
import { grouped } from '../../../support/text/figures.ts';
import { Marked, useIsFound } from './marked.tsx';

/** Characters and lines that are drawn at first. A click shows the rest. */
const FOLDED = { length: 3_000, lines: 40 } as const;
/** Most characters that a browser lays out at once without a pause. */
const LONGEST = 400_000;

/** Text of a run, exactly as it was written. */
export function LongText({ text, kind = 'prose' }: { readonly text: string; readonly kind?: 'prose' | 'mono' }) {
  const [isOpen, setOpen] = useState(false);
  const folded = fold(text);
  const isFoundBelow = useIsFound(() => text.slice(Math.max(0, folded.length - 100)));
  const isFolded = folded.length < text.length && !isOpen && !isFoundBelow;
  const shown = isFolded ? folded : text.slice(0, LONGEST);
  return (
    <>
      <pre class={`text ${kind} ${isFolded ? 'folded' : ''}`}>
        <Marked text={shown} />
      </pre>
      {isFolded ? <UnfoldButton text={text} onOpen={() => setOpen(true)} /> : null}
      {shown.length < text.length && !isFolded ? (
        <p class="quiet">{`Cut after ${grouped(LONGEST)} of ${grouped(text.length)} characters; the JSON has all of them.`}</p>
      ) : null}
    </>
  );
}

/** The button below the first part of a text. It shows the rest. */
export function UnfoldButton({ text, onOpen }: { readonly text: string; onOpen(): void }) {
  return (
    <button type="button" class="link unfold" onClick={onOpen}>
      {`Show all of it (${grouped(text.length)} characters)`}
    </button>
  );
}

/** The first part of a text; the whole text if little would be left out. */
export function fold(text: string): string {
  let at = -1;
  for (let line = 0; line < FOLDED.lines; line++) {
    at = text.indexOf('\n', at + 1);
    if (at === -1) break;
  }
  const end = Math.min(at === -1 ? text.length : at, FOLDED.length);
  return text.length - end < FOLDED.length / 4 && text.length < FOLDED.length * 1.25 ? text : text.slice(0, end);
}
