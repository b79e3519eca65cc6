import type { ComponentChildren, TargetedEvent } from 'preact';
import { useState } from 'preact/hooks';
import { preview } from '../../format.ts';
import { navigate } from '../navigate.ts';
import { CHOSEN_FILTERS, useFilterChoices } from './filter-choices.ts';
import {
  EVALUATION_FILTERS,
  isFiltered,
  METADATA_PREFIX,
  REWARD_FILTERS,
  TIME_FILTERS,
  withValue,
  withValues,
} from './run-filters.ts';
import { withoutFilters } from './selection.ts';

const TITLES: Readonly<Record<string, string>> = {
  env_name: 'Environment',
  scenario_name: 'Scenario',
  model: 'Model',
  status: 'Status',
  origin: 'Origin',
  min_reward: 'Reward from',
  max_reward: 'Reward to',
  since: 'Since (UTC)',
  until: 'Until (UTC)',
};

/** The filters of the list; on narrow screens they are folded. What they say is in the address, which can be kept and sent to others. */
export function FilterBar({ query }: { readonly query: URLSearchParams }) {
  const [isOpen, setOpen] = useState(false);
  const choices = useFilterChoices(query.get('env_name') ?? undefined);
  const change = (name: string, value: string) => {
    // A scenario is one of its environment.
    const gone = name === 'env_name' ? { scenario_name: '' } : {};
    navigate(withValues(query, { ...gone, [name]: name in choices ? value : value.trim() }));
  };
  const toProps = (name: string) => ({
    id: `filter-${name}`,
    defaultValue: query.get(name) ?? '',
    onChange: (event: TargetedEvent<HTMLInputElement>) => change(name, event.currentTarget.value),
  });
  // A new key for a new value: what the address says replaces what was typed.
  const toKey = (name: string) => `${name}=${query.get(name) ?? ''}`;
  return (
    <section class={`filters ${isOpen ? '' : 'is-folded'}`} aria-label="Filters">
      <button type="button" class="button filter-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isFiltered(query) ? 'Filters (some are set)' : 'Filters'}
      </button>
      {CHOSEN_FILTERS.map((name) => (
        <Field key={name} name={name}>
          <select
            id={`filter-${name}`}
            value={query.get(name) ?? ''}
            onChange={(event) => change(name, event.currentTarget.value)}
          >
            <option value="">any</option>
            {withChosen(choices[name], query.get(name)).map((choice) => (
              <option key={choice} value={choice}>
                {choice}
              </option>
            ))}
          </select>
        </Field>
      ))}
      {REWARD_FILTERS.map((name) => (
        <Field key={toKey(name)} name={name}>
          <input type="number" step="any" {...toProps(name)} />
        </Field>
      ))}
      {TIME_FILTERS.map((name) => (
        <Field key={toKey(name)} name={name}>
          <input type="datetime-local" {...toProps(name)} />
        </Field>
      ))}
      <MetadataFilter query={query} />
    </section>
  );
}

/** A filter of the address is shown, and can be dropped, even if no run matches. */
function withChosen(choices: readonly string[], chosen: string | null): readonly string[] {
  return chosen === null || chosen === '' || choices.includes(chosen) ? choices : [...choices, chosen];
}

function Field({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={`filter-${name}`}>{TITLES[name]}</label>
      {children}
    </div>
  );
}

/** One entry `key=value` at a time; those that are asked for stand beside it, each with the way to drop it. */
function MetadataFilter({ query }: { readonly query: URLSearchParams }) {
  const given = [...query].filter(([name]) => name.startsWith(METADATA_PREFIX));
  const add = (field: HTMLInputElement) => {
    const text = field.value;
    const at = text.indexOf('=');
    field.setCustomValidity(at > 0 || text === '' ? '' : 'A key and its value, with = between them: team=search');
    if (!field.reportValidity()) return;
    if (at > 0) navigate(withValue(query, `${METADATA_PREFIX}${text.slice(0, at).trim()}`, text.slice(at + 1).trim()));
  };
  return (
    <>
      <div class="field">
        <label for="filter-metadata">Metadata</label>
        <input
          key={given.join()}
          id="filter-metadata"
          type="text"
          placeholder="key=value"
          onChange={(event) => add(event.currentTarget)}
        />
      </div>
      {given.length === 0 && !isFiltered(query) ? null : (
        <p class="filter-chips">
          <EvaluationChips query={query} />
          {given.map(([name, value]) => (
            <a
              key={name}
              class="button"
              href={withValue(query, name, '')}
              aria-label={`Without ${name.slice(METADATA_PREFIX.length)}=${value}`}
            >
              {`${name.slice(METADATA_PREFIX.length)}=${value} ×`}
            </a>
          ))}
          <a href={withoutFilters(query)}>Clear all filters</a>
        </p>
      )}
    </>
  );
}

/** The evaluation and the task that the list is of: the way to them, and the way to drop them. */
function EvaluationChips({ query }: { readonly query: URLSearchParams }) {
  const given = EVALUATION_FILTERS.flatMap((name) => {
    const value = query.get(name) ?? '';
    return value === '' ? [] : [{ name, value }];
  });
  const id = query.get('evaluation_id') ?? '';
  return (
    <>
      {given.map(({ name, value }) => {
        const text = `${name === 'task_id' ? 'task' : 'evaluation'} ${preview(value, 16)}`;
        return (
          <a key={name} class="button" href={withValue(query, name, '')} aria-label={`Without ${text}`}>
            {`${text} ×`}
          </a>
        );
      })}
      {/^\w+$/.test(id) ? <a href={`/evaluations/${id}`}>Its evaluation</a> : null}
    </>
  );
}
