import { useMemo, useState } from 'preact/hooks';
import { formatCount } from '../../format.ts';
import { fold, LongText } from '../components/long-text.tsx';
import { DiffView } from '../trace/code.tsx';
import { diffSide, type Side } from './compared-text.ts';

export interface ComparedTextProps {
  readonly text: string;
  /** The value that it is compared with; undefined: none. */
  readonly against: string | undefined;
  readonly side: Side;
}

/** A longer value is folded if both sides are equal, in characters. */
const FOLDED_LENGTH: Readonly<Record<Side, number>> = { known: 400, other: 160 };

/** A text with the words marked that the other side does not have. */
export function ComparedProse({ text, against, side }: ComparedTextProps) {
  return <Words text={text} against={against} side={side} kind="prose" />;
}

/** A value: by lines where it has several, else by words. What is long and the same on both sides is folded. */
export function ComparedValue({ title, text, against, side }: ComparedTextProps & { readonly title: string }) {
  const isLines = against !== undefined && (text.includes('\n') || against.includes('\n'));
  const lines = useMemo(
    () => (isLines && text !== against ? diffSide(text, against ?? '', side, 'lines') : undefined),
    [text, against, side, isLines],
  );
  if (text === against && text.length > FOLDED_LENGTH[side]) return <SameValue text={text} />;
  if (lines !== undefined) return <DiffView title={title} lines={lines} />;
  if (isLines) return <LongText text={text} kind="mono" />;
  return <Words text={text} against={against} side={side} kind="mono" />;
}

function SameValue({ text }: { readonly text: string }) {
  return (
    <details class="more same-value">
      <summary>{`The same (${formatCount(text.length)} characters)`}</summary>
      <LongText text={text} kind="mono" />
    </details>
  );
}

function Words({ text, against, side, kind }: ComparedTextProps & { readonly kind: 'prose' | 'mono' }) {
  const [isOpen, setOpen] = useState(false);
  const shown = isOpen ? text : fold(text);
  const words = useMemo(
    () =>
      against === undefined || against === text
        ? undefined
        : diffSide(shown, isOpen ? against : fold(against), side, 'words'),
    [text, against, side, shown, isOpen],
  );
  if (words === undefined) return <LongText text={text} kind={kind} />;
  return (
    <>
      <pre class={`text ${kind} ${shown.length < text.length ? 'folded' : ''}`}>
        {words.map((word, index) =>
          word.kind === 'same' ? (
            word.text
          ) : (
            <mark key={index} class={`differs ${word.kind}`}>
              {word.text}
            </mark>
          ),
        )}
      </pre>
      {shown.length < text.length ? (
        <button type="button" class="link unfold" onClick={() => setOpen(true)}>
          {`Show all of it (${formatCount(text.length)} characters)`}
        </button>
      ) : null}
    </>
  );
}
