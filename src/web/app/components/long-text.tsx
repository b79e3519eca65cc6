import { useState } from 'preact/hooks';
import { formatCount } from '../../format.ts';
import { Marked, useIsFound } from './marked.tsx';

/** Drawn at once; the rest is a click away, so that no text makes the page slow. In characters and lines. */
const FOLDED = { length: 3_000, lines: 40 } as const;
/** A browser lays out no more than this at once without a pause. */
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
      {isFolded ? (
        <button type="button" class="link unfold" onClick={() => setOpen(true)}>
          {`Show all of it (${formatCount(text.length)} characters)`}
        </button>
      ) : null}
      {shown.length < text.length && !isFolded ? (
        <p class="quiet">{`Cut after ${formatCount(LONGEST)} of ${formatCount(text.length)} characters; the JSON has all of them.`}</p>
      ) : null}
    </>
  );
}

/** The beginning that is shown at first; all of it where there is little more. */
export function fold(text: string): string {
  let at = -1;
  for (let line = 0; line < FOLDED.lines; line++) {
    at = text.indexOf('\n', at + 1);
    if (at === -1) break;
  }
  const end = Math.min(at === -1 ? text.length : at, FOLDED.length);
  return text.length - end < FOLDED.length / 4 && text.length < FOLDED.length * 1.25 ? text : text.slice(0, end);
}
