import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import type { AgentToolEntry } from '../../../environment/client/environment-client.ts';
import { createSeededRandom } from '../../../models/gateway/reference/seeded-random.ts';
import { createObservations } from '../../replays/snapshots.ts';
import { canonicalJson } from '../../tasks/canonical-json.ts';
import type { Finding, Subject } from '../finding.ts';
import { answerSchemaOf, resultsOf } from '../player/observed.ts';
import { isPassed } from '../player/passes.ts';
import type { PlayedSession } from '../player/play.ts';
import type { SessionPlayer } from '../player/session-player.ts';
import { playing, trajectoryOf } from '../player/trajectory.ts';
import { answerAlone, type Mutant, mutantsOf } from './mutants.ts';

/** Most changes that a message lists. */
const MAX_LISTED = 8;
/** An answer that is wrong for every task. */
const NO_ANSWER = 'I do not know.';

/** True if the answer counts: it is structured, or another answer gets another reward. */
export async function doesAnswerCount({ task, solved }: Subject, bench: SessionPlayer): Promise<boolean> {
  if (answerSchemaOf(solved) !== null) return true;
  const { calls, answer } = trajectoryOf(solved);
  if (answer === NO_ANSWER) return false;
  const played = await bench.play(task, playing({ calls, answer: NO_ANSWER }));
  return played.trace.reward !== solved.trace.reward;
}

/** Facts about a task that its mutants need. */
export interface MutantFacts {
  readonly tools: ReadonlyMap<string, AgentToolEntry>;
  readonly answerCounts: boolean;
  /** Most mutants to play. A solution of forty calls has hundreds. */
  readonly most: number;
}

/** Reasons why a changed solution may get the reward. */
export type PaidReason = 'read-only' | 'idempotent' | 'refused' | 'another order';

/** Result of playing changed versions of one solution. */
export interface Strength {
  readonly found: readonly Finding[];
  readonly played: number;
  /** Changes that got the reward for a good reason. */
  readonly allowed: readonly { readonly label: string; readonly reason: PaidReason }[];
  /** Labels of changes that got the reward without a reason, which show what the grader does not check. */
  readonly survivors: readonly string[];
}

/** Plays solutions with one change each. Changes that still pass show what the grader does not check. */
export async function graderStrength(subject: Subject, bench: SessionPlayer, facts: MutantFacts): Promise<Strength> {
  const { task, solved } = subject;
  const solution = trajectoryOf(solved);
  const all = mutantsOf(solution, { ...facts, answerSchema: answerSchemaOf(solved) });
  const isOver = () => bench.budget.isOver('grader_strength', task);
  const results = await bench.each(pick(all, bench.seed, facts.most), { isOver }, async (mutant) => {
    const played = await bench.play(task, { finding: 'grader_strength', ...playing(mutant.trajectory) });
    return { mutant, played };
  });
  const paid = results
    .filter(({ played }) => isPassed(played.trace, bench.threshold))
    .map(({ mutant, played }) => ({ mutant, played, reason: reasonFor(mutant, solved, played, facts) }));
  const allowed = paid.flatMap(({ mutant: { label }, reason }) => (reason === undefined ? [] : [{ label, reason }]));
  const survivors = paid.filter(({ reason }) => reason === undefined);
  const found: Finding[] = isOver() ? [] : [...(await answerOnly(subject, bench, facts))];
  const [first] = survivors;
  if (first !== undefined) {
    const labels = survivors.map(({ mutant: { label } }) => label);
    const listed = listOf(
      survivors.map(({ mutant, played }) => {
        const isOnly = labels.filter((label) => label === mutant.label).length === 1;
        return `${isOnly ? mutant.words : mutant.label}${describeOrder(mutant, solved, played)}`;
      }),
    );
    const message = `${survivors.length} of ${results.length} changes of its solution are paid too: ${listed}.`;
    found.push({ finding: 'grader_strength', level: 'warning', task, played: first.played, message });
  }
  return { found, played: results.length, allowed, survivors: survivors.map(({ mutant }) => mutant.label) };
}

/** Lists the first texts, each once with its count, and the number of others. */
export function listOf(all: readonly string[]): string {
  const numbers = new Map<string, number>();
  for (const text of all) numbers.set(text, (numbers.get(text) ?? 0) + 1);
  const texts = [...numbers].map(([text, times]) => (times === 1 ? text : `${text} (${times} ×)`));
  const more = texts.length > MAX_LISTED ? `; and ${texts.length - MAX_LISTED} more` : '';
  return `${texts.slice(0, MAX_LISTED).join('; ')}${more}`;
}

/** Checks that the answer alone does not pass if the work is done by calls and no message contains the answer. */
async function answerOnly(
  { task, solved }: Subject,
  bench: SessionPlayer,
  { tools }: MutantFacts,
): Promise<readonly Finding[]> {
  const solution = trajectoryOf(solved);
  const works = solution.calls.some(({ name }) => tools.get(name)?.annotations.readOnlyHint !== true);
  if (!works || isGiven(solution.answer, solved)) return [];
  const mutant = answerAlone(solution);
  const played = await bench.play(task, { finding: 'grader_strength', ...playing(mutant.trajectory) });
  if (!isPassed(played.trace, bench.threshold)) return [];
  const message = `The answer of its solution passes without any of its ${solution.calls.length} calls: the grader looks at words, and not at what was done.`;
  return [{ finding: 'grader_strength', level: 'error', task, played, message }];
}

function isGiven(answer: string, solved: PlayedSession): boolean {
  if (answer.length < 2) return false;
  return resultsOf(solved).some(({ content, structured_content }) =>
    JSON.stringify([content, structured_content]).includes(JSON.stringify(answer).slice(1, -1)),
  );
}

/**
 * The reason why the grader may reward a change; undefined without one. An equal `info` is a reason only for the order
 * of calls, because `info` may leave out the very part that the grader does not check.
 */
function reasonFor(
  mutant: Mutant,
  solved: PlayedSession,
  played: PlayedSession,
  { tools }: MutantFacts,
): PaidReason | undefined {
  const hints = mutant.tools.map((name) => tools.get(name)?.annotations ?? {});
  const isReading = hints.some(({ readOnlyHint }) => readOnlyHint === true);
  if (mutant.kind !== 'answer' && hints.length > 0 && isReading) return 'read-only';
  if (mutant.kind === 'doubled' && hints.every(({ idempotentHint }) => idempotentHint === true)) return 'idempotent';
  const results = resultsOf(played);
  const isRefused = mutant.origins.some((origin, index) => origin === null && results[index]?.is_error === true);
  if (isRefused) return 'refused';
  return mutant.kind === 'swapped' && hasSameEnd(solved, played) ? 'another order' : undefined;
}

/** Says whether the order of swapped calls matters, as far as the environment shows it. */
function describeOrder({ kind, origins }: Mutant, solved: PlayedSession, played: PlayedSession): string {
  if (kind !== 'swapped') return '';
  if (Object.keys(infoOf(solved)).length > 0) return ' (their order matters: info differs)';
  const { sameResult } = createObservations(solved.volatile);
  const [before, after] = [resultsOf(solved), resultsOf(played)];
  const isSame = origins.every((origin, index) => {
    const [first, second] = [before[origin ?? -1], after[index]];
    return first !== undefined && second !== undefined && sameResult(first.name, toResult(first), toResult(second));
  });
  if (!isSame) return ' (their order matters: results differ)';
  return ' (whether their order matters is not known: results are the same, and there is no info)';
}

function toResult({ content, structured_content, is_error }: ReturnType<typeof resultsOf>[number]) {
  return { content, structured_content: isJsonObject(structured_content) ? structured_content : null, is_error };
}

function infoOf({ trace }: PlayedSession): JsonObject {
  return trace.evaluation?.info ?? {};
}

/** True if the environment reports its final state in `info` and it is the same. */
function hasSameEnd(solved: PlayedSession, played: PlayedSession): boolean {
  const [before, after] = [infoOf(solved), infoOf(played)];
  return Object.keys(before).length > 0 && canonicalJson(unordered(before)) === canonicalJson(unordered(after));
}

/** Sorts lists, because ids of changed things are in the order of the changes. */
function unordered(value: Json): Json {
  if (Array.isArray(value)) return value.map(unordered).sort((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, unordered(member)]));
}

/** Picks mutants at random, by the seed, with some of each kind first. */
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
