import type { Database } from './database.ts';

/** Values are JSON; a side that has no such field has no such key here. */
export interface FieldDifference {
  /** Dotted, from the record on: `status`, `items.0.price`. */
  readonly field: string;
  readonly expected?: unknown;
  readonly actual?: unknown;
}

export interface RecordDifference {
  readonly kind: 'orders' | 'users';
  readonly id: string;
  readonly fields: readonly FieldDifference[];
}

/** The records that are not the same in two views of one shop, by id, with the fields that differ. */
export function compareDatabases(expected: Database, actual: Database): readonly RecordDifference[] {
  return [
    ...compareRecords('orders', expected, actual, (database, id) => database.order(id)),
    ...compareRecords('users', expected, actual, (database, id) => database.user(id)),
  ];
}

/** Down to the smallest values that differ. Numbers are compared as doubles, without tolerance; 0 and -0 are the same. */
export function compareFields(expected: unknown, actual: unknown, field = ''): readonly FieldDifference[] {
  if (expected === actual) return [];
  if (!isContainer(expected) || !isContainer(actual) || Array.isArray(expected) !== Array.isArray(actual)) {
    return [{ field, expected, actual }];
  }
  const names = [...new Set([...Object.keys(expected), ...Object.keys(actual)])];
  return names.flatMap((name): readonly FieldDifference[] => {
    const path = field === '' ? name : `${field}.${name}`;
    if (!Object.hasOwn(actual, name)) return [{ field: path, expected: expected[name] }];
    if (!Object.hasOwn(expected, name)) return [{ field: path, actual: actual[name] }];
    return compareFields(expected[name], actual[name], path);
  });
}

function compareRecords(
  kind: RecordDifference['kind'],
  expected: Database,
  actual: Database,
  record: (database: Database, id: string) => unknown,
): readonly RecordDifference[] {
  const ids = [...new Set([...expected.savedIds()[kind], ...actual.savedIds()[kind]])].sort();
  return ids
    .map((id) => ({ kind, id, fields: compareFields(record(expected, id), record(actual, id)) }))
    .filter((difference) => difference.fields.length > 0);
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
