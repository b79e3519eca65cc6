import type { Json, JsonSchema } from '../../../contract/json.ts';
import type { AgentToolEntry } from '../../../environment/client/environment-client.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import { canonicalJson } from '../../tasks/canonical-json.ts';
import type { Trajectory, TrajectoryCall } from '../player/trajectory.ts';
import { changedValues } from './changed-values.ts';

/** A solution with one change. */
export interface Mutant {
  readonly kind: 'omitted' | 'doubled' | 'swapped' | 'argument' | 'answer' | 'answer alone';
  /** Description, such as `without call 2, pay({"amount":3})`. */
  readonly words: string;
  /** Short description that is equal for equal changes of several calls, such as `without pay`. */
  readonly label: string;
  readonly trajectory: Trajectory;
  /** Index of the original call for each call; null for a changed or added one. */
  readonly origins: readonly (number | null)[];
  /** Tools of the changed calls. */
  readonly tools: readonly string[];
}

export interface MutantOptions {
  readonly tools: ReadonlyMap<string, AgentToolEntry>;
  readonly answerSchema: JsonSchema | null;
  /** True if another answer gets another evaluation. */
  readonly answerCounts: boolean;
}

/** All solutions that differ from a given one by one change, without duplicates. */
export function mutantsOf(solution: Trajectory, options: MutantOptions): readonly Mutant[] {
  const all = [
    ...solution.calls.flatMap((call, index) => callMutants(solution, call, index, options)),
    ...(options.answerCounts ? answerMutants(solution, options) : []),
  ];
  const known = new Set([keyOf(solution)]);
  return all.filter(({ trajectory }) => {
    const key = keyOf(trajectory);
    if (known.has(key)) return false;
    known.add(key);
    return true;
  });
}

/** The answer of a solution without its calls. */
export function answerAlone({ answer }: Trajectory): Mutant {
  return {
    kind: 'answer alone',
    words: 'its answer without a call',
    label: 'the answer alone',
    trajectory: { calls: [], answer },
    origins: [],
    tools: [],
  };
}

/** Words and label. */
type Texts = readonly [string, string];

function callMutants(
  { calls, answer }: Trajectory,
  call: TrajectoryCall,
  index: number,
  { tools }: MutantOptions,
): readonly Mutant[] {
  const own = calls.map((each, origin) => ({ ...each, origin: origin as number | null }));
  const told = `call ${index + 1}, ${shown(call)}`;
  const { name: tool } = call;
  const make = (kind: Mutant['kind'], [words, label]: Texts, list: typeof own, changed = [tool]): Mutant => ({
    kind,
    words,
    label,
    trajectory: { calls: list.map(({ name, arguments: args }) => ({ name, arguments: args })), answer },
    origins: list.map(({ origin }) => origin),
    tools: changed,
  });
  const next = own[index + 1];
  const mutants = [
    make('omitted', [`without ${told}`, `without ${tool}`], own.toSpliced(index, 1)),
    make('doubled', [`with ${told}, twice`, `${tool} twice`], own.toSpliced(index + 1, 0, { ...call, origin: null })),
  ];
  if (next !== undefined) {
    const swapped = own.toSpliced(index, 2, next, { ...call, origin: index });
    mutants.push(
      make('swapped', [`with ${told}, after ${shown(next)}`, `${tool} after ${next.name}`], swapped, [
        call.name,
        next.name,
      ]),
    );
  }
  for (const { path, before, after, value } of changedValues(
    call.arguments,
    tools.get(call.name)?.input_schema ?? null,
  )) {
    const changed = own.toSpliced(index, 1, { name: call.name, arguments: value, origin: null });
    const change = `${path} ${preview(after)} instead of ${preview(before)}`;
    mutants.push(make('argument', [`with ${change} in ${told}`, `${tool} with ${change}`], changed));
  }
  return mutants;
}

function answerMutants({ calls, answer }: Trajectory, { answerSchema }: MutantOptions): readonly Mutant[] {
  const origins = calls.map((_, index) => index);
  const make = (words: string, text: string): Mutant => ({
    kind: 'answer',
    words,
    label: words,
    trajectory: { calls, answer: text },
    origins,
    tools: [],
  });
  if (answerSchema === null) {
    return numberChanges(answer).map((text) => make(`with the answer ${preview(text)}`, text));
  }
  return changedValues(parsed(answer), answerSchema).map(({ path, before, after, value }) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return make(
      `with the answer${path === '' ? '' : `'s ${path}`} ${preview(after)} instead of ${preview(before)}`,
      text,
    );
  });
}

/** Texts with one number changed, and the text without its second half. */
function numberChanges(answer: string): readonly string[] {
  const numbers = [...answer.matchAll(/\d+/g)].map((match) => {
    const other = String(Number(match[0]) + 1);
    return `${answer.slice(0, match.index)}${other}${answer.slice(match.index + match[0].length)}`;
  });
  return [...numbers, answer.slice(0, Math.floor(answer.length / 2))];
}

export function parsed(answer: string): Json {
  try {
    return JSON.parse(answer) as Json;
  } catch {
    return answer;
  }
}

function shown({ name, arguments: args }: TrajectoryCall): string {
  return `${name}(${preview(args)})`;
}

function keyOf({ calls, answer }: Trajectory): string {
  return canonicalJson([calls.map(({ name, arguments: args }) => [name, args]), answer]);
}
