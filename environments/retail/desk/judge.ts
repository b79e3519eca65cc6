import type { Database } from './database.ts';
import { DeskError } from './desk-error.ts';
import { compareDatabases, type FieldDifference, type RecordDifference } from './differences.ts';
import { assertions, type ReferenceCall, referenceCalls, type Task } from './tasks.ts';
import { deskTools } from './tools.ts';

const MAX_FIELDS_SHOWN = 20;
const MAX_FIELDS_NAMED = 4;

interface RecordIds {
  readonly orders: readonly string[];
  readonly users: readonly string[];
}

export interface Judgement {
  readonly reward: 0 | 1;
  /** One line for people. */
  readonly content: string;
  readonly info: {
    /** Records that are not as the reference calls leave them. */
    readonly differing_records: RecordIds;
    /** Where they differ, as far as it is shown: at most 20 fields. */
    readonly differences: readonly (FieldDifference & { readonly record: string })[];
    /** Records that are not as they were when the task began. */
    readonly changed_records: RecordIds;
    /** The task's sentences that nothing here judges. */
    readonly not_judged: readonly string[];
  };
}

/** Grades the end state alone: whether it is the one that the task's reference calls give on a fresh copy of the shop. */
export function judge(task: Task, actual: Database): Judgement {
  const expected = play(referenceCalls(task), actual.fresh());
  const differing = compareDatabases(expected, actual);
  const changed = compareDatabases(actual.fresh(), actual);
  return {
    reward: differing.length === 0 ? 1 : 0,
    content: describe(differing, changed),
    info: {
      differing_records: toIds(differing),
      differences: differing
        .flatMap(({ id, fields }) => fields.map((field) => ({ record: id, ...field })))
        .slice(0, MAX_FIELDS_SHOWN),
      changed_records: toIds(changed),
      not_judged: assertions(task),
    },
  };
}

/** The reference calls that lead to the right end state: those that the desk refuses change nothing. */
export function effectiveCalls(task: Task, database: Database): readonly ReferenceCall[] {
  const refused = new Set<ReferenceCall>();
  play(referenceCalls(task), database.fresh(), (call) => refused.add(call));
  return referenceCalls(task).filter((call) => !refused.has(call));
}

/** Makes the calls in order; one that the desk refuses changes nothing and does not end them. */
function play(
  calls: readonly ReferenceCall[],
  database: Database,
  onRefused: (call: ReferenceCall) => void = () => {},
): Database {
  for (const call of calls) {
    const tool = deskTools.find(({ name }) => name === call.name);
    if (tool === undefined) throw new Error(`tasks.json has a reference call of '${call.name}', which is not a tool`);
    try {
      tool.run(database, call.arguments);
    } catch (error) {
      if (!(error instanceof DeskError)) throw error;
      onRefused(call);
    }
  }
  return database;
}

function describe(differing: readonly RecordDifference[], changed: readonly RecordDifference[]): string {
  const done = `${changed.length} ${changed.length === 1 ? 'record' : 'records'} changed`;
  if (differing.length === 0) return `The shop's records are as they should be (${done}).`;
  const shown = differing.map(({ id, fields }) => `${id} (${listFields(fields)})`);
  return `The shop's records are not as they should be (${done}): ${shown.join('; ')}.`;
}

function listFields(fields: readonly FieldDifference[]): string {
  const named = fields.slice(0, MAX_FIELDS_NAMED).map(({ field }) => field);
  const rest = fields.length - named.length;
  return rest > 0 ? `${named.join(', ')} and ${rest} more` : named.join(', ');
}

function toIds(differences: readonly RecordDifference[]): RecordIds {
  const idsOf = (kind: RecordDifference['kind']) =>
    differences.filter((each) => each.kind === kind).map(({ id }) => id);
  return { orders: idsOf('orders'), users: idsOf('users') };
}
