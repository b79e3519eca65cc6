import type { Ref } from 'preact';
import { grouped } from '../../../support/text/figures.ts';
import { Icon } from '../components/icons.tsx';
import { KINDS, type Kind } from './view-context.ts';

export interface SearchState {
  readonly text: string;
  /** Entries that have it; undefined while they are looked for. */
  readonly found: readonly string[] | undefined;
  /** The one that was gone to last. */
  readonly at: number;
}

export interface ToolbarProps {
  readonly hidden: ReadonlySet<Kind>;
  readonly search: SearchState;
  readonly searchRef: Ref<HTMLInputElement>;
  onToggle(kind: Kind): void;
  onSearch(text: string): void;
  /** To the next place that was found, or to the one before. */
  onStep(by: 1 | -1): void;
  onHelp(): void;
}

const NAMES: Readonly<Record<Kind, string>> = {
  prompt: 'Prompt',
  reasoning: 'Reasoning',
  text: 'Text',
  tools: 'Tools',
  images: 'Images',
  logs: 'Logs',
};

/** Stays in sight while the transcript is read: search, and what is shown of it. */
export function Toolbar({ hidden, search, searchRef, onToggle, onSearch, onStep, onHelp }: ToolbarProps) {
  return (
    <div class="toolbar" role="toolbar" aria-label="Transcript">
      <div class="search">
        <Icon name="search" />
        <input
          ref={searchRef}
          type="search"
          placeholder="Search this trace"
          aria-label="Search this trace"
          value={search.text}
          onInput={({ currentTarget }) => onSearch(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') onStep(event.shiftKey ? -1 : 1);
            if (event.key === 'Escape') {
              onSearch('');
              event.currentTarget.blur();
            }
          }}
        />
        <span class="search-count quiet" role="status">
          {describeSearch(search)}
        </span>
        {search.text === '' ? <kbd>/</kbd> : <SearchSteps search={search} onStep={onStep} />}
      </div>
      <fieldset class="kinds">
        <legend class="visually-hidden">What is shown</legend>
        {KINDS.map((kind) => (
          <button key={kind} type="button" class="chip" aria-pressed={!hidden.has(kind)} onClick={() => onToggle(kind)}>
            {NAMES[kind]}
          </button>
        ))}
      </fieldset>
      <button type="button" class="icon-button" title="Keys (?)" aria-label="Keys" onClick={onHelp}>
        <kbd>?</kbd>
      </button>
    </div>
  );
}

function SearchSteps({ search, onStep }: Pick<ToolbarProps, 'search' | 'onStep'>) {
  const isEmpty = (search.found?.length ?? 0) === 0;
  return (
    <>
      <button
        type="button"
        class="icon-button small"
        aria-label="Found before"
        disabled={isEmpty}
        onClick={() => onStep(-1)}
      >
        <Icon name="left" />
      </button>
      <button
        type="button"
        class="icon-button small"
        aria-label="Found next"
        disabled={isEmpty}
        onClick={() => onStep(1)}
      >
        <Icon name="right" />
      </button>
    </>
  );
}

function describeSearch({ text, found, at }: SearchState): string {
  if (text === '') return '';
  if (found === undefined) return '…';
  if (found.length === 0) return 'nothing found';
  return at < 0 ? `in ${grouped(found.length)}` : `${grouped(at + 1)} of ${grouped(found.length)}`;
}
