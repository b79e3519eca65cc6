import type { AgentToolEntry } from '../../client/environment-client.ts';
import type { Json, JsonSchema } from '../../contract/json.ts';
import { preview } from '../../schema/json-schema.ts';
import { canonicalJson } from '../../tasks/canonical-json.ts';
import { changedValues } from './changed-values.ts';
import type { Trajectory, TrajectoryCall } from './trajectory.ts';

/** A solution with one change. */
export interface Mutant {
  readonly kind: 'omitted' | 'doubled' | 'swapped' | 'argument' | 'answer' | 'answer alone';
  /** In words, such as `without call 2, pay({"amount":3})`. */
  readonly words: string;
  readonly trajectory: Trajectory;
  /** For each call of it the call of the solution that it is; null for one that has changed or come in. */
  readonly origins: readonly (number | null)[];
  /** The tools of the calls that were changed. */
  readonly tools: readonly string[];
}

export interface MutantOptions {
  readonly tools: ReadonlyMap<string, AgentToolEntry>;
  readonly answerSchema: JsonSchema | null;
  /** Whether another answer gets another evaluation. */
  readonly answerCounts: boolean;
}

/** Every solution that differs from a given one by one change; those that come to the same once. */
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
    trajectory: { calls: [], answer },
    origins: [],
    tools: [],
  };
}

function callMutants(
  { calls, answer }: Trajectory,
  call: TrajectoryCall,
  index: number,
  { tools }: MutantOptions,
): readonly Mutant[] {
  const own = calls.map((each, origin) => ({ ...each, origin: origin as number | null }));
  const told = `call ${index + 1}, ${shown(call)}`;
  const make = (kind: Mutant['kind'], words: string, list: typeof own, changed = [call.name]): Mutant => ({
    kind,
    words,
    trajectory: { calls: list.map(({ name, arguments: args }) => ({ name, arguments: args })), answer },
    origins: list.map(({ origin }) => origin),
    tools: changed,
  });
  const next = own[index + 1];
  const mutants = [
    make('omitted', `without ${told}`, own.toSpliced(index, 1)),
    make('doubled', `with ${told}, twice`, own.toSpliced(index + 1, 0, { ...call, origin: null })),
  ];
  if (next !== undefined) {
    const swapped = own.toSpliced(index, 2, next, { ...call, origin: index });
    mutants.push(make('swapped', `with ${told}, after ${shown(next)}`, swapped, [call.name, next.name]));
  }
  for (const { path, after, value } of changedValues(call.arguments, tools.get(call.name)?.input_schema ?? null)) {
    const changed = own.toSpliced(index, 1, { name: call.name, arguments: value, origin: null });
    mutants.push(make('argument', `with ${path} = ${preview(after)} in ${told}`, changed));
  }
  return mutants;
}

function answerMutants({ calls, answer }: Trajectory, { answerSchema }: MutantOptions): readonly Mutant[] {
  const origins = calls.map((_, index) => index);
  const make = (words: string, text: string): Mutant => ({
    kind: 'answer',
    words,
    trajectory: { calls, answer: text },
    origins,
    tools: [],
  });
  if (answerSchema === null) {
    return numberChanges(answer).map((text) => make(`with the answer ${preview(text)}`, text));
  }
  return changedValues(parsed(answer), answerSchema).map(({ path, after, value }) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return make(`with ${path === '' ? 'the answer' : `${path} of the answer`} = ${preview(after)}`, text);
  });
}

/** The text with each of its numbers another, and without its second half. */
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
