import { meanText, rewardText } from '../../../../support/text/figures.ts';
import type { CellGroup, MatrixRow } from '../../../evaluations/evaluation-data.ts';
import { OutcomeBar } from '../outcome-bar.tsx';
import { LOOKS, signOf, stateOf, toneOf } from '../states.ts';
import { CELL, ROW_HEADER } from './grid-roles.ts';

/** Place in the grid of what the keyboard is at: column 0 is the task, then every cell. */
export function cellId(row: number, column: number): string {
  return `cell-${row}-${column}`;
}

/** Cells of a group in the grid. */
function widthOf({ states }: CellGroup): number {
  return states?.length ?? 1;
}

/** A task and its attempts with each model. Everything in it is reached by the keys of the grid. */
export function TaskRow({
  row,
  index,
  threshold,
  models,
  active,
  onTask,
}: {
  readonly row: MatrixRow;
  readonly index: number;
  readonly threshold: number;
  readonly models: readonly string[];
  /** The column that the keyboard is at, where it is in this row. */
  readonly active: number | undefined;
  onTask(id: string): void;
}) {
  let column = 1;
  return (
    <>
      <span
        {...ROW_HEADER}
        id={cellId(index, 0)}
        class={`matrix-task ${active === 0 ? 'is-active' : ''}`}
        title={row.id}
      >
        <button type="button" class="link" tabIndex={-1} onClick={() => onTask(row.id)}>
          <bdi>{row.id}</bdi>
        </button>
      </span>
      {row.groups.map((group, at) => {
        const from = column;
        column += widthOf(group);
        return (
          <Group
            key={at}
            group={group}
            threshold={threshold}
            model={models[at] ?? ''}
            place={{ row: index, from, active }}
          />
        );
      })}
    </>
  );
}

interface GroupProps {
  readonly group: CellGroup;
  readonly threshold: number;
  readonly model: string;
  /** Where it is in a grid, and the column that its keyboard is at. Undefined: in a table. */
  readonly place?: { readonly row: number; readonly from: number; readonly active: number | undefined };
}

/** The attempts of a task with one model, and their mean. */
export function Group({ group, threshold, model, place }: GroupProps) {
  const { states, counts } = group;
  const attributesOf = (index: number) =>
    place === undefined ? {} : { ...CELL, id: cellId(place.row, place.from + index) };
  const isActive = (index: number) => place !== undefined && place.active === place.from + index;
  return (
    <span class="matrix-pair">
      {states === undefined ? (
        <span {...attributesOf(0)} class={`matrix-group ${isActive(0) ? 'is-active' : ''}`}>
          <OutcomeBar counts={counts ?? {}} passed={group.passed ?? 0} />
        </span>
      ) : (
        <span class="matrix-group">
          {Array.from(states, (letter, index) => (
            <span key={index} {...attributesOf(index)} class="cell-place">
              <Cell
                group={group}
                threshold={threshold}
                model={model}
                letter={letter}
                index={index}
                isActive={isActive(index)}
                isInGrid={place !== undefined}
              />
            </span>
          ))}
        </span>
      )}
      <span class="matrix-mean" aria-hidden={place !== undefined}>
        {meanText(group.mean)}
      </span>
    </span>
  );
}

function Cell({
  group,
  threshold,
  model,
  letter,
  index,
  isActive,
  isInGrid,
}: {
  readonly group: CellGroup;
  readonly threshold: number;
  readonly model: string;
  readonly letter: string;
  /** From 0. */
  readonly index: number;
  readonly isActive: boolean;
  /** Its grid is one stop of the keyboard. */
  readonly isInGrid: boolean;
}) {
  const state = stateOf(letter);
  const reward = group.rewards?.[index] ?? null;
  const trace = group.traces?.[index] ?? null;
  const look = `cell ${toneOf(state, reward, threshold)} ${isActive ? 'is-active' : ''}`;
  const sign = signOf(state, reward, threshold);
  const said = `${model}, attempt ${index + 1}: ${LOOKS[state].title}${reward === null ? '' : rewardWords(reward, sign)}`;
  return trace === null ? (
    <span class={look} title={said} role="img" aria-label={said}>
      {sign}
    </span>
  ) : (
    <a class={look} href={`/traces/${trace}`} title={said} aria-label={said} {...(isInGrid ? { tabIndex: -1 } : {})}>
      {sign}
    </a>
  );
}

/** The reward for the name of a cell. A name has to contain the visible text as a word, such as `.50` for 0.5. */
function rewardWords(reward: number, sign: string): string {
  return `, reward ${rewardText(reward)}${/^[.\d]/.test(sign) ? `, shown as ${sign}` : ''}`;
}
