import type { Entry } from './timeline.ts';

/** Milliseconds after which a search lets the page breathe. */
const SLICE_MS = 8;

const texts = new WeakMap<Entry, string>();

/**
 * The ids of the entries that have a text in them, in their order, whatever is folded or switched off. Long traces are
 * searched in slices, so that the page goes on meanwhile.
 *
 * @throws the reason of the signal.
 */
export async function searchEntries(
  entries: readonly Entry[],
  searched: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found: string[] = [];
  let startedAt = performance.now();
  for (const entry of entries) {
    if (searchableText(entry).includes(searched)) found.push(entry.id);
    if (performance.now() - startedAt < SLICE_MS) continue;
    await new Promise((resolve) => setTimeout(resolve));
    signal.throwIfAborted();
    startedAt = performance.now();
  }
  return found;
}

/** Everything in an entry that is written text, in lower case. Kept, since entries do not change. */
function searchableText(entry: Entry): string {
  const known = texts.get(entry);
  if (known !== undefined) return known;
  const parts: string[] = [];
  collect(entry, parts);
  const text = parts.join('\n').toLowerCase();
  texts.set(entry, text);
  return text;
}

/** Names of the fields of an event say nothing; those within arguments and results do. Images have no text. */
function collect(value: unknown, parts: string[], isData = false): void {
  if (typeof value === 'string') parts.push(value);
  else if (typeof value === 'number' && isData) parts.push(String(value));
  else if (Array.isArray(value)) for (const member of value) collect(member, parts, isData);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      if (SILENT_FIELDS.has(name) && !isData) continue;
      if (isData) parts.push(name);
      collect(member, parts, isData || DATA_FIELDS.has(name));
    }
  }
}

const DATA_FIELDS = new Set(['arguments', 'structured_content', 'input_schema', 'answer', 'info']);
const SILENT_FIELDS = new Set(
  'kind id type at seq attempt role data mimeType tool_call_id calledAt requestedAt token_ids logprobs tool_calls extra'.split(
    ' ',
  ),
);
