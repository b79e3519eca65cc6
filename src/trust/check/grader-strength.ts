import type { AgentToolEntry } from '../../client/environment-client.ts';
import { isJsonObject, type Json } from '../../contract/json.ts';
import { createSeededRandom } from '../../model/seeded-random.ts';
import { canonicalJson } from '../../tasks/canonical-json.ts';
import { createObservations } from '../observations.ts';
import type { Bench } from './bench.ts';
import type { Found, Subject } from './finding.ts';
import { answerAlone, type Mutant, mutantsOf } from './mutants.ts';
import { answerSchemaOf, resultsOf } from './observed.ts';
import { isPassed } from './passes.ts';
import type { Played } from './play.ts';
import { playing, trajectoryOf } from './trajectory.ts';

/** Survivors that a message lists. */
const MAX_LISTED = 5;
/** An answer that is right nowhere. */
const NO_ANSWER = 'I do not know.';

/** Whether an answer counts: it is structured, or another one gets another reward. */
export async function doesAnswerCount({ task, solved }: Subject, bench: Bench): Promise<boolean> {
  if (answerSchemaOf(solved) !== null) return true;
  const { calls, answer } = trajectoryOf(solved);
  if (answer === NO_ANSWER) return false;
  const played = await bench.play(task, playing({ calls, answer: NO_ANSWER }));
  return played.trace.reward !== solved.trace.reward;
}

/** The facts about a task before its mutants are played. */
export interface MutantFacts {
  readonly tools: ReadonlyMap<string, AgentToolEntry>;
  readonly answerCounts: boolean;
  /** Mutants that are played, at most: solutions of forty calls have hundreds. */
  readonly most: number;
}

/** How many mutants were played, and lost. */
export interface Strength {
  readonly found: readonly Found[];
  readonly played: number;
  readonly equivalent: number;
  readonly survivors: number;
}

/** Plays solutions with one change each: those that pass as well show what the grader does not look at. */
export async function graderStrength(subject: Subject, bench: Bench, facts: MutantFacts): Promise<Strength> {
  const { task, solved } = subject;
  const solution = trajectoryOf(solved);
  const all = mutantsOf(solution, { ...facts, answerSchema: answerSchemaOf(solved) });
  const isOver = () => bench.budget.isOver('grader_strength', task);
  const picked = await bench.each(pick(all, bench.seed, facts.most), { isOver }, async (mutant) => {
    const played = await bench.play(task, playing(mutant.trajectory));
    const isPaid = isPassed(played.trace, bench.threshold);
    return { mutant, played, isPaid, isEquivalent: isPaid && isEquivalent(mutant, solved, played, facts) };
  });
  const equivalent = picked.filter((each) => each.isEquivalent).length;
  const survivors = picked.filter((each) => each.isPaid && !each.isEquivalent);
  const found: Found[] = isOver() ? [] : [...(await answerOnly(subject, bench, facts))];
  const [first] = survivors;
  if (first !== undefined) {
    const listed = survivors.slice(0, MAX_LISTED).map(({ mutant }) => mutant.words);
    const more = survivors.length > MAX_LISTED ? `; and ${survivors.length - MAX_LISTED} more` : '';
    const share = `${survivors.length} of ${picked.length} changes of its solution are paid too`;
    const message = `${share}: ${listed.join('; ')}${more}.`;
    found.push({ finding: 'grader_strength', level: 'warning', task, played: first.played, message });
  }
  return { found, played: picked.length, equivalent, survivors: survivors.length };
}

/** The answer alone must not pass where the work is done by calls, and nobody was given the answer. */
async function answerOnly({ task, solved }: Subject, bench: Bench, { tools }: MutantFacts): Promise<readonly Found[]> {
  const solution = trajectoryOf(solved);
  const works = solution.calls.some(({ name }) => tools.get(name)?.annotations.readOnlyHint !== true);
  if (!works || isGiven(solution.answer, solved)) return [];
  const mutant = answerAlone(solution);
  const played = await bench.play(task, playing(mutant.trajectory));
  if (!isPassed(played.trace, bench.threshold)) return [];
  const message = `The answer of its solution passes without any of its ${solution.calls.length} calls: the grader looks at words, and not at what was done.`;
  return [{ finding: 'grader_strength', level: 'error', task, played, message }];
}

function isGiven(answer: string, solved: Played): boolean {
  if (answer.length < 2) return false;
  return resultsOf(solved).some(({ content, structured_content }) =>
    JSON.stringify([content, structured_content]).includes(JSON.stringify(answer).slice(1, -1)),
  );
}

/** A change that changed nothing: the grader is right to pay for it. */
function isEquivalent(mutant: Mutant, solved: Played, played: Played, { tools }: Pick<MutantFacts, 'tools'>): boolean {
  const hints = mutant.tools.map((name) => tools.get(name)?.annotations ?? {});
  const isReading = hints.some(({ readOnlyHint }) => readOnlyHint === true);
  if (mutant.kind !== 'answer' && hints.length > 0 && isReading) return true;
  if (mutant.kind === 'doubled' && hints.every(({ idempotentHint }) => idempotentHint === true)) return true;
  const results = resultsOf(played);
  const isRefused = mutant.origins.some((origin, index) => origin === null && results[index]?.is_error === true);
  if (isRefused && mutant.kind !== 'omitted') return true;
  if (mutant.kind === 'answer' || !hasSameEnd(solved, played)) return false;
  // On the way calls in another order see other states.
  return mutant.kind === 'swapped' || hasSameResults(mutant, solved, played);
}

/** Where the environment tells in what state it ends. */
function hasSameEnd(solved: Played, played: Played): boolean {
  const [before, after] = [solved.trace.evaluation?.info ?? {}, played.trace.evaluation?.info ?? {}];
  return Object.keys(before).length > 0 && canonicalJson(unordered(before)) === canonicalJson(unordered(after));
}

/** Lists in the order of their members' texts: ids of what was changed come as it was changed. */
function unordered(value: Json): Json {
  if (Array.isArray(value)) return value.map(unordered).sort((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, unordered(member)]));
}

function hasSameResults({ origins }: Mutant, solved: Played, played: Played): boolean {
  const { sameResult } = createObservations(solved.volatile);
  const [before, after] = [resultsOf(solved), resultsOf(played)];
  return origins.every((origin, index) => {
    const [first, second] = [before[origin ?? -1], after[index]];
    if (origin === null || first === undefined || second === undefined) return origin === null;
    return sameResult(first.name, toResult(first), toResult(second));
  });
}

function toResult({ content, structured_content, is_error }: ReturnType<typeof resultsOf>[number]) {
  return { content, structured_content: isJsonObject(structured_content) ? structured_content : null, is_error };
}

/** Some of each kind first, by chance that can be had again. */
function pick(mutants: readonly Mutant[], seed: number, most: number): readonly Mutant[] {
  const random = createSeededRandom(seed);
  const kinds = new Map<Mutant['kind'], Mutant[]>();
  const mixed = mutants.map((mutant) => ({ mutant, rank: random.next() })).sort((a, b) => a.rank - b.rank);
  for (const { mutant } of mixed) kinds.set(mutant.kind, [...(kinds.get(mutant.kind) ?? []), mutant]);
  const picked: Mutant[] = [];
  for (let round = 0; picked.length < most && round < mutants.length; round += 1) {
    for (const list of kinds.values()) {
      const next = list[round];
      if (next !== undefined && picked.length < most) picked.push(next);
    }
  }
  return picked;
}
