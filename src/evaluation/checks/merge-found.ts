import type { Finding } from './finding.ts';

/** Most tasks that a message names. */
const MAX_NAMED = 5;

/** Merges the same finding in several tasks of a scenario into the first, with the names of the others. */
export function mergeFindings(found: readonly Finding[]): readonly Finding[] {
  const groups = new Map<string, Finding[]>();
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

/** A message up to its first colon, without the parts that differ between tasks: values, numbers and quoted texts. */
function kindOf(message: string): string {
  return (message.split(':')[0] ?? '').replace(/"(?:[^"\\]|\\.)*"|\{[^}]*\}|\([^)]*\)|[\d.,]+/g, '');
}
