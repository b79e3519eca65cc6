import { faultIn, isJsonObject, type Json } from '../../contract/json.ts';
import { isTooDeep, MAX_INPUT_DEPTH } from '../../contract/json-depth.ts';
import { type DeclaredTask, declaredTaskSchema, type Task, taskLineSchema, taskSchema } from '../../contract/task.ts';
import { preview } from '../../support/schema/json-schema.ts';
import { didYouMean } from '../../support/text/did-you-mean.ts';
import { canonicalJson } from './canonical-json.ts';

/** The source of tasks. Unknown fields of a task are refused in a file and ignored in a request. */
export type TaskForm = 'file' | 'request';

/** One thing that is wrong with one task; `field` is dotted (`args.id`), empty for the task itself. */
export interface FieldProblem {
  readonly field: string;
  readonly sentence: string;
}

type Parsed<Value> =
  | { readonly value: Value; readonly problems?: undefined }
  | { readonly problems: readonly FieldProblem[] };

/** Reads one task and fills in its defaults, or tells everything that is wrong with it. */
export function parseTask(value: unknown, form: TaskForm): Parsed<Task> {
  return parseBy(form === 'file' ? taskLineSchema : taskSchema, TASK_FIELDS, value);
}

/** Reads a task that a scenario declares. */
export function parseDeclaredTask(value: unknown): Parsed<DeclaredTask> {
  return parseBy(declaredTaskSchema, DECLARED_FIELDS, value);
}

/** After "has to be". */
const WORDS = {
  id: 'a text of 1 to 200 characters without control characters',
  env: 'the name of an environment',
  scenario: 'the name of a scenario',
  args: 'an object of arguments',
  split: '"train", "validation" or "test"',
  tags: 'a list of texts',
  cluster: 'a text that is not empty, without zero characters',
  held_out: 'true or false',
  max_steps: 'an integer from 1 to 500',
  timeout_seconds: 'an integer from 1 to 86400, in seconds',
  user_script: 'a list of at most 500 texts',
} as const;
const TASK_FIELDS: readonly string[] = Object.keys(WORDS);
const DECLARED_FIELDS: readonly string[] = ['id', 'args', 'split', 'tags', 'cluster', 'user_script'];
/** An explicit null is as if they were absent, as in every request. */
const OPTIONAL_FIELDS = ['args', 'tags', 'cluster', 'held_out', 'max_steps', 'timeout_seconds', 'user_script'] as const;

interface Issue {
  readonly code: string;
  readonly path: readonly PropertyKey[];
  readonly keys?: readonly string[];
}

interface Schema<Value> {
  safeParse(
    value: unknown,
  ):
    | { readonly success: true; readonly data: Value }
    | { readonly success: false; readonly error: { readonly issues: readonly Issue[] } };
}

function parseBy<Value extends object>(
  schema: Schema<Value>,
  fields: readonly string[],
  value: unknown,
): Parsed<Value> {
  if (isTooDeep(value, MAX_INPUT_DEPTH)) return refused('', `It is nested more than ${MAX_INPUT_DEPTH} deep.`);
  if (!isJsonObject(value)) return refused('', `A task has to be an object, got ${preview(value)}.`);
  const fault = faultIn(value.args);
  if (fault !== undefined) {
    const got = fault.got === undefined ? '' : `, got ${fault.got}`;
    return refused(['args', ...fault.path].join('.'), `It has to be ${fault.message}${got}.`);
  }
  const parsed = schema.safeParse(withoutNulls(value));
  if (!parsed.success) return { problems: parsed.error.issues.flatMap((issue) => toProblems(issue, value, fields)) };
  const broken = brokenTextIn(parsed.data);
  return broken === undefined ? { value: parsed.data } : { problems: [broken] };
}

function refused(field: string, sentence: string): { readonly problems: readonly FieldProblem[] } {
  return { problems: [{ field, sentence }] };
}

function withoutNulls(value: Readonly<Record<string, Json>>): Readonly<Record<string, Json>> {
  if (!OPTIONAL_FIELDS.some((name) => value[name] === null)) return value;
  const absent = OPTIONAL_FIELDS.filter((name) => value[name] === null);
  return Object.fromEntries(Object.entries(value).filter(([name]) => !absent.some((other) => other === name)));
}

function toProblems(
  issue: Issue,
  value: Readonly<Record<string, Json>>,
  fields: readonly string[],
): readonly FieldProblem[] {
  if (issue.code === 'unrecognized_keys') {
    return (issue.keys ?? []).map((key) => ({
      field: key,
      sentence: `No task has this field.${didYouMean(key, fields)} The fields are ${fields.join(', ')}.`,
    }));
  }
  const [name = '', ...inner] = issue.path.map(String);
  const words = WORDS[name as keyof typeof WORDS] ?? 'valid';
  const given = Object.hasOwn(value, name) ? value[name] : undefined;
  const sentence =
    given === undefined
      ? `It is missing; it has to be ${words}.`
      : `It has to be ${words}, got ${preview(Array.isArray(given) && inner[0] !== undefined ? given[Number(inner[0])] : given)}.`;
  return [{ field: [name, ...inner].join('.'), sentence }];
}

/** Half of a surrogate pair has no UTF-8, and so the version no bytes. */
function brokenTextIn(task: object): FieldProblem | undefined {
  // JSON escapes such a half and no other character of that range.
  if (!ESCAPED_SURROGATE.test(JSON.stringify(task))) return undefined;
  for (const [field, value] of Object.entries(task)) {
    if (value === undefined) continue;
    try {
      canonicalJson(value);
    } catch {
      return { field, sentence: `It has half of a surrogate pair, which UTF-8 cannot hold, got ${preview(value)}.` };
    }
  }
  return undefined;
}

const ESCAPED_SURROGATE = /\\ud[89a-f]/;
