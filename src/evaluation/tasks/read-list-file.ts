import { isMap, isScalar, isSeq, LineCounter, type Node, type ParsedNode, parseDocument } from 'yaml';
import type { ApiError } from '../../contract/errors.ts';
import { messageOf } from '../../contract/errors.ts';
import { isJsonObject } from '../../contract/json.ts';
import { MAX_INPUT_DEPTH } from '../../contract/json-depth.ts';
import { preview } from '../../support/schema/json-schema.ts';
import { didYouMean } from '../../support/text/did-you-mean.ts';
import { findJsonItems } from './json-items.ts';
import { readTasksText } from './open-file.ts';
import { withoutExcerpt } from './read-jsonl.ts';
import { type TaskProblem, tasksRefused } from './tasks-refused.ts';

/** Bytes: the file is in memory as a whole. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;
/** Bytes: for each of them its reader takes a microsecond and a hundred bytes. */
const MAX_YAML_BYTES = 2 * 1024 * 1024;
/** Uses of anchors, those inside of others counted as often as they are used. */
const MAX_ALIASES = 10_000;
/** Characters and members of everything that aliases stand for. */
const MAX_EXPANDED = 64 * 1024 * 1024;

/** A list of tasks in a file, before it is checked. */
export interface TaskListFile {
  /** The taskset's, where the file has one. */
  readonly name: string | undefined;
  readonly values: readonly unknown[];
  /** On which each value begins. */
  readonly lines: readonly number[];
}

/** @throws ApiError for a file that is not JSON: a list of tasks, or `{name, tasks}`. */
export async function readJsonFile(path: string, label: string): Promise<TaskListFile> {
  const text = await readTasksText(path, label, MAX_JSON_BYTES);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const { faultLine = 1 } = findJsonItems(text);
    throw refuse(label, faultLine, `It is not JSON: ${withoutExcerpt(messageOf(error))}.`);
  }
  return { ...listOf(label, value), lines: findJsonItems(text).lines };
}

/** @throws ApiError for a file that is not YAML 1.2: a list of tasks, or a map with `name` and `tasks`. */
export async function readYamlFile(path: string, label: string): Promise<TaskListFile> {
  const text = await readTasksText(path, label, MAX_YAML_BYTES);
  const counter = new LineCounter();
  const lineOf = (offset: number | undefined) => (offset === undefined ? null : counter.linePos(offset).line);
  const document = orRefused(label, () => parseDocument(text, { lineCounter: counter, prettyErrors: false }));
  // One fault of its syntax makes many.
  const [fault] = [...document.errors, ...document.warnings];
  if (fault !== undefined) {
    const isTooDeep = /call stack/.test(fault.message);
    throw refuse(
      label,
      lineOf(fault.pos[0]),
      isTooDeep ? TOO_DEEP : `It is not plain YAML: ${firstLine(fault.message)}.`,
    );
  }
  const value: unknown = orRefused(label, () => document.toJS({ maxAliasCount: MAX_ALIASES }));
  const items = itemsOf(document.contents);
  // As many as there are values: a list that is itself an alias has its items elsewhere.
  const list = listOf(label, value);
  if (expandedSize(list.values, MAX_EXPANDED) > MAX_EXPANDED) throw refuse(label, null, TOO_MANY_ALIASES);
  return { ...list, lines: list.values.map((_, index) => lineOf(items[index]?.range?.[0]) ?? 1) };
}

const TOO_DEEP = `It is nested more than ${MAX_INPUT_DEPTH} deep.`;
const TOO_MANY_ALIASES = 'Its aliases stand for too much; write out what they mean.';

function itemsOf(contents: Node | null): readonly ParsedNode[] {
  const list = isMap(contents)
    ? contents.items.find(({ key }) => isScalar(key) && key.value === 'tasks')?.value
    : contents;
  return isSeq<ParsedNode>(list) ? list.items : [];
}

function listOf(label: string, value: unknown): Omit<TaskListFile, 'lines'> {
  if (Array.isArray(value)) return { name: undefined, values: value };
  if (!isJsonObject(value))
    throw refuse(label, null, `It has to be a list of tasks, or {name, tasks}, got ${preview(value)}.`);
  const { name, tasks, ...others } = value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    const sentence = `A taskset has no field ${preview(unknown)}.${didYouMean(unknown, ['name', 'tasks'])} Its fields are name and tasks.`;
    throw refuse(label, null, sentence);
  }
  if (name !== undefined && name !== null && (typeof name !== 'string' || !NAME.test(name))) {
    throw refuse(
      label,
      null,
      `name has to be a text of 1 to 200 characters without control characters, got ${preview(name)}.`,
    );
  }
  if (!Array.isArray(tasks)) throw refuse(label, null, `tasks has to be a list of tasks, got ${preview(tasks)}.`);
  return { name: name ?? undefined, values: tasks };
}

const NAME = /^\P{Cc}{1,200}$/u;

/** Its recursion gives a RangeError for thousands of brackets, and it counts aliases itself. */
function orRefused<T>(label: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) throw refuse(label, null, TOO_DEEP);
    const isBomb = error instanceof ReferenceError;
    throw refuse(label, null, isBomb ? TOO_MANY_ALIASES : `It is not plain YAML: ${firstLine(messageOf(error))}.`);
  }
}

/** Stops at the limit, because one object may be used by any number of YAML aliases. */
function expandedSize(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  let size = 1;
  for (const [key, member] of Object.entries(value)) {
    size += key.length + expandedSize(member, limit - size);
    if (size > limit) break;
  }
  return size;
}

function refuse(label: string, position: number | null, sentence: string): ApiError {
  const problem: TaskProblem = { position, field: '', sentence };
  return tasksRefused({ file: label, by: 'line' }, [problem]);
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').replace(/[.:]$/, '');
}
