export interface ComparedModels {
  readonly a: string;
  readonly b: string;
  readonly a_model?: string;
  readonly b_model?: string;
  readonly grades?: 'current';
}

export function toComparePath(compared: ComparedModels): string {
  return `/evaluations/compare?${new URLSearchParams({ ...compared })}`;
}

/** The same address with some values changed; an empty one is left out. */
export function withChoices(query: URLSearchParams, values: Readonly<Record<string, string>>): string {
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(values)) {
    if (value === '') changed.delete(name);
    else changed.set(name, value);
  }
  return changed.size === 0 ? location.pathname : `?${changed}`;
}
