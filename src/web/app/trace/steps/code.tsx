import { useMemo, useState } from 'preact/hooks';
import { grouped } from '../../../../support/text/figures.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { fold, UnfoldButton } from '../../components/long-text.tsx';
import { Marked, useIsFound } from '../../components/marked.tsx';
import { highlight } from './highlight.ts';
import type { DiffLine } from './line-diff.ts';

/** Code that a model wrote. */
export function Code({ name, text }: { readonly name: string; readonly text: string }) {
  const [isOpen, setOpen] = useState(false);
  const isFound = useIsFound(() => text);
  const shown = isOpen || isFound ? text : fold(text);
  const tokens = useMemo(() => highlight(shown), [shown]);
  return (
    <div class="code">
      <div class="code-head">
        <span class="quiet">{name}</span>
        <CopyButton text={() => text} label={`Copy ${name}`} />
      </div>
      <pre class="text mono">
        {tokens.map(({ kind, text: part }, index) => (
          <span key={index} class={kind === 'plain' ? undefined : `code-${kind}`}>
            <Marked text={part} />
          </span>
        ))}
      </pre>
      {shown.length < text.length ? <UnfoldButton text={text} onOpen={() => setOpen(true)} /> : null}
    </div>
  );
}

/** Lines around a change that are shown with it, and lines that are drawn at once. */
const CONTEXT_LINES = 3;
const LINES_AT_ONCE = 120;

const SIGNS = { same: ' ', removed: '−', added: '+' } as const;

/** An edit, line by line; long stretches that stay as they were are left out. */
export function DiffView({ title, lines }: { readonly title: string; readonly lines: readonly DiffLine[] }) {
  const [isOpen, setOpen] = useState(false);
  const shown = useMemo(() => withoutStretches(lines), [lines]);
  const drawn = isOpen ? shown : shown.slice(0, LINES_AT_ONCE);
  return (
    <div class="code diff">
      <div class="code-head">
        <span class="quiet">{title === '' ? 'edit' : title}</span>
        <span>
          <span class="diff-count added">{`+${countOf(lines, 'added')}`}</span>{' '}
          <span class="diff-count removed">{`−${countOf(lines, 'removed')}`}</span>
        </span>
      </div>
      <pre class="text mono">
        {drawn.map((line, index) =>
          line === undefined ? (
            <span key={index} class="diff-gap">
              {'⋯\n'}
            </span>
          ) : (
            <span key={index} class={`diff-line ${line.kind}`}>
              <span class="diff-sign">{SIGNS[line.kind]}</span>
              <Marked text={line.text} />
              {'\n'}
            </span>
          ),
        )}
      </pre>
      {drawn.length < shown.length ? (
        <button type="button" class="link unfold" onClick={() => setOpen(true)}>
          {`Show all ${grouped(shown.length)} lines`}
        </button>
      ) : null}
    </div>
  );
}

/** Undefined means omitted lines. */
function withoutStretches(lines: readonly DiffLine[]): readonly (DiffLine | undefined)[] {
  const isNear = (index: number) =>
    lines.slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1).some(({ kind }) => kind !== 'same');
  const shown: (DiffLine | undefined)[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.kind !== 'same' || isNear(index)) shown.push(line);
    else if (shown.length === 0 || shown.at(-1) !== undefined) shown.push(undefined);
  }
  return shown;
}

function countOf(lines: readonly DiffLine[], kind: DiffLine['kind']): number {
  return lines.filter((line) => line.kind === kind).length;
}
