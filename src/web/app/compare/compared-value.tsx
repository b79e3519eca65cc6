import { useMemo, useState } from 'preact/hooks';
import { grouped } from '../../../support/text/figures.ts';
import { fold, LongText, UnfoldButton } from '../components/long-text.tsx';
import { DiffView } from '../trace/steps/code.tsx';
import { diffSide, type Side } from './compared-text.ts';

export interface ComparedTextProps {
  readonly text: string;
  /** Value that this one is compared with, if any. */
  readonly against: string | undefined;
  readonly side: Side;
}

/** Most characters of a value that is not folded although both sides are equal. */
const FOLDED_LENGTH: Readonly<Record<Side, number>> = { known: 400, other: 160 };

/** A text with marks on the words that the other side lacks. */
export function ComparedProse({ text, against, side }: ComparedTextProps) {
  return <Words text={text} against={against} side={side} kind="prose" />;
}

/** A value with marks, by line or by word. A long value is folded if both sides are equal. */
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
      <summary>{`The same (${grouped(text.length)} characters)`}</summary>
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
      {shown.length < text.length ? <UnfoldButton text={text} onOpen={() => setOpen(true)} /> : null}
    </>
  );
}
