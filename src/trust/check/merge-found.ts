import type { Found } from './finding.ts';

/** Tasks that a message names. */
const MAX_NAMED = 5;

/** One finding for all tasks of a scenario that show the same: the first, with the names of the others. */
export function mergeFound(found: readonly Found[]): readonly Found[] {
  const groups = new Map<string, Found[]>();
  for (const each of found) {
    const key = JSON.stringify([
      each.finding,
      each.level,
      each.task?.scenario.short_name ?? each.scenario,
      kindOf(each.message),
    ]);
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const ids = [...new Set(others.flatMap(({ task }) => (task === undefined ? [] : [task.id])))].filter(
      (id) => id !== first.task?.id,
    );
    if (ids.length === 0) return [first];
    const named = ids.slice(0, MAX_NAMED).join(', ');
    const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
    return [{ ...first, message: `${first.message} So in ${named}${more}.` }];
  });
}

/** A message without what differs from task to task: values, numbers and quoted texts, up to its first colon. */
function kindOf(message: string): string {
  return (message.split(':')[0] ?? '').replace(/"(?:[^"\\]|\\.)*"|\{[^}]*\}|\([^)]*\)|[\d.,]+/g, '');
}
