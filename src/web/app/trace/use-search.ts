import { useEffect, useState } from 'preact/hooks';
import { goTo } from './go-to.ts';
import { searchEntries } from './search-entries.ts';
import type { Entry } from './timeline.ts';
import type { SearchState } from './toolbar.tsx';

/** While somebody types nothing is looked for yet, in milliseconds. */
const TYPING_MS = 150;
/** One letter is everywhere. */
const SHORTEST = 2;

/** A search over all entries, folded and far ones too. `marked` is what is marked in them. */
export function useSearch(entries: readonly Entry[]) {
  const [search, setSearch] = useState<SearchState>({ text: '', found: undefined, at: -1 });
  const searched = search.text.trim().toLowerCase();
  const [marked, setMarked] = useState('');
  useEffect(() => {
    if (searched.length < SHORTEST) {
      setMarked('');
      setSearch((known) => ({ ...known, found: undefined, at: -1 }));
      return;
    }
    const gone = new AbortController();
    const timer = setTimeout(() => {
      searchEntries(entries, searched, gone.signal).then(
        (found) => {
          if (gone.signal.aborted) return;
          setMarked(searched);
          setSearch((known) => ({ ...known, found }));
        },
        () => {}, // Aborted: another search has taken its place.
      );
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [entries, searched]);
  return {
    search,
    marked,
    setText: (text: string) => setSearch({ text, found: undefined, at: -1 }),
    step(by: 1 | -1) {
      const { found = [], at } = search;
      if (found.length === 0) return;
      const next = at === -1 && by === -1 ? found.length - 1 : (at + by + found.length) % found.length;
      goTo(found[next] ?? '');
      setSearch({ ...search, at: next });
    },
  };
}
