import {
  CELL_FILTERS,
  CELL_LETTERS,
  type CellFilter,
  type MatrixPage,
  TASK_SORTS,
  type TaskSort,
} from '../../../evaluations/evaluation-data.ts';
import { navigate } from '../../navigate.ts';
import { withChoices } from '../evaluation-paths.ts';
import { LOOKS } from '../states.ts';

const SORT_TITLES: Readonly<Record<TaskSort, string>> = {
  id: 'by id',
  mean: 'lowest mean first',
  differs: 'largest difference first',
};

/** The part of an address that says which tasks are shown, and in which order. */
const CHOICES = ['sort', 'model', 'outcome', 'differing', 'text', 'grades'] as const;

/** Choices of the address, without those that the server does not know. */
export function toMatrixQuery(query: URLSearchParams): URLSearchParams {
  const known: Readonly<Record<string, readonly string[]>> = {
    sort: TASK_SORTS,
    outcome: CELL_FILTERS,
    differing: ['true'],
    grades: ['current'],
  };
  const chosen = CHOICES.flatMap((name) => {
    const value = query.get(name)?.slice(0, 200) ?? '';
    return value === '' || known[name]?.includes(value) === false ? [] : [[name, value]];
  });
  return new URLSearchParams(chosen);
}

/** Filters and order of the tasks. They are in the address, which can be kept and sent to others. */
export function MatrixFilters({ query, page }: { readonly query: URLSearchParams; readonly page: MatrixPage }) {
  const choose = (values: Readonly<Record<string, string>>) => navigate(withChoices(query, values), { replace: true });
  const isFiltered = CHOICES.some((name) => name !== 'sort' && name !== 'grades' && query.has(name));
  return (
    <search class="matrix-filters">
      <label>
        Task
        <input
          key={query.get('text') ?? ''}
          type="search"
          placeholder="a part of its id"
          maxLength={200}
          defaultValue={query.get('text') ?? ''}
          onChange={(event) => choose({ text: event.currentTarget.value.trim() })}
        />
      </label>
      <label>
        Model
        <select value={query.get('model') ?? ''} onChange={(event) => choose({ model: event.currentTarget.value })}>
          <option value="">all</option>
          {page.models.map(({ model }) => (
            <option key={model} value={model}>
              {model}
            </option>
          ))}
        </select>
      </label>
      <label>
        Outcome
        <select value={query.get('outcome') ?? ''} onChange={(event) => choose({ outcome: event.currentTarget.value })}>
          <option value="">any</option>
          {CELL_FILTERS.filter((filter) => filter === query.get('outcome') || isThere(filter, page)).map((filter) => (
            <option key={filter} value={filter}>
              {titleOf(filter)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Order
        <select
          value={query.get('sort') ?? 'id'}
          onChange={({ currentTarget: { value } }) => choose({ sort: value === 'id' ? '' : value })}
        >
          {TASK_SORTS.map((sort) => (
            <option key={sort} value={sort}>
              {SORT_TITLES[sort]}
            </option>
          ))}
        </select>
      </label>
      <label class="matrix-check">
        <input
          type="checkbox"
          checked={query.get('differing') === 'true'}
          onChange={(event) => choose({ differing: event.currentTarget.checked ? 'true' : '' })}
        />
        {page.shown.length > 1 ? 'models differ' : 'attempts differ'}
      </label>
      {isFiltered ? (
        <button type="button" class="link" onClick={() => choose({ model: '', outcome: '', differing: '', text: '' })}>
          Clear filters
        </button>
      ) : null}
    </search>
  );
}

function titleOf(filter: CellFilter): string {
  if (filter === 'passed') return 'passed';
  return filter === 'failed' ? 'below the threshold' : LOOKS[filter].title;
}

function isThere(filter: CellFilter, { models }: MatrixPage): boolean {
  if (filter === 'passed' || filter === 'failed') return true;
  return models.some(({ counts }) => (counts[CELL_LETTERS[filter]] ?? 0) > 0);
}
