import { countText } from '../../../support/text/figures.ts';
import { comparePath, MOST_COMPARED } from '../compare/compare-path.ts';
import { navigate } from '../navigate.ts';

export interface SelectionBarProps {
  readonly selected: readonly string[];
  /** How many of them are on this page of the list. */
  readonly shownCount: number;
  /** The address without any of them. */
  readonly clearedPath: string;
}

/** Actions for the selected runs. It stays in sight while the list is scrolled. */
export function SelectionBar({ selected, shownCount, clearedPath }: SelectionBarProps) {
  const elsewhere = selected.length - shownCount;
  return (
    <section class={`selection-bar ${selected.length === 0 ? 'is-empty' : ''}`} aria-label="Selected runs">
      <p role="status">
        {selected.length === 0 ? '' : `${countText(selected.length, 'run')} selected`}
        {elsewhere > 0 ? <span class="quiet">{`, ${elsewhere} not on this page`}</span> : null}
        {selected.length === 1 ? <span class="quiet">: select another to compare it with</span> : null}
        {selected.length === MOST_COMPARED ? (
          <span class="quiet">{`: no more than ${MOST_COMPARED} are compared`}</span>
        ) : null}
      </p>
      {selected.length === 0 ? null : (
        <>
          <button type="button" class="button" onClick={() => navigate(clearedPath, { replace: true })}>
            Clear
          </button>
          {selected.length < 2 ? null : (
            <a class="button main" href={comparePath(selected)}>
              {`Compare ${countText(selected.length, 'run')}`}
            </a>
          )}
        </>
      )}
    </section>
  );
}
