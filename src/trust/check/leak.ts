import { preview } from '../../schema/json-schema.ts';
import type { Bench } from './bench.ts';
import type { Found, Subject } from './finding.ts';
import { parsed } from './mutants.ts';
import { answerSchemaOf, resultsOf, textOfPrompt } from './observed.ts';
import type { Played } from './play.ts';
import { leavesOf, trajectoryOf } from './trajectory.ts';

/** Characters that a literal has at least: shorter ones are everywhere. */
const LEAST_LENGTH = 4;
/** Numbers, names with digits or signs, and quoted texts of an answer that is a sentence. */
const TELLING = /"([^"\n]+)"|'([^'\n]+)'|`([^`\n]+)`|([A-Za-z0-9]*[\d_#@/-][\w#@/.-]*\w)/g;

/** Everything that an agent sees without a call of the solution, by the place where it sees it. */
export type Seen = readonly { readonly where: string; readonly text: string }[];

/** Whether the answer of the solution is told to an agent that has not worked for it. */
export function leak({ task, solved }: Subject, bench: Bench, seen: Seen, plays: readonly Played[]): readonly Found[] {
  const literals = literalsOfAnswer(solved);
  const own = solved.trace.tools.map((tool) => ({ where: `the tool ${tool.name}`, text: JSON.stringify(tool) }));
  const system = { where: 'the system text', text: solved.trace.system ?? '' };
  for (const literal of literals) {
    const place = [system, ...own, ...seen].find(({ text }) => holds(text, literal));
    if (place === undefined) continue;
    const message = `The answer of its solution, ${preview(literal)}, is told by ${place.where}.`;
    return [{ finding: 'leak', level: 'error', task, played: solved, message }];
  }
  return fromOtherCalls({ task, solved }, bench, literals, plays);
}

/** Results of calls that the solution does not make. */
function fromOtherCalls(
  { task, solved }: Pick<Subject, 'task' | 'solved'>,
  bench: Bench,
  literals: readonly string[],
  plays: readonly Played[],
): readonly Found[] {
  const tools = new Set(trajectoryOf(solved).calls.map(({ name }) => name));
  for (const played of plays) {
    for (const { name, arguments: args, content, structured_content, is_error } of resultsOf(played)) {
      if (tools.has(name) && !is_error) continue;
      const text = JSON.stringify([content, structured_content]);
      const given = JSON.stringify(args);
      const literal = literals.find((each) => holds(text, each) && !holds(given, each));
      if (literal === undefined) continue;
      const message = `The answer of its solution, ${preview(literal)}, is told by ${is_error ? 'an error' : 'a result'} of ${name} to an agent that has not solved it.`;
      const reproduce = bench.commandOf(task, played);
      return [
        {
          finding: 'leak',
          level: is_error && !isOneOfMany(text, literal) ? 'error' : 'warning',
          task,
          played,
          message,
          reproduce,
        },
      ];
    }
  }
  return [];
}

/** Literals of 4 or more characters, and in neither the prompt, the arguments nor the choices that the answer's schema gives. */
function literalsOfAnswer(solved: Played): readonly string[] {
  const { answer } = trajectoryOf(solved);
  const schema = answerSchemaOf(solved);
  const leaves = schema === null ? [answer.trim(), ...tellingParts(answer)] : leavesOf(parsed(answer)).map(String);
  const known = `${textOfPrompt(solved.trace.prompt)}\n${JSON.stringify(solved.trace.scenario_args)}\n${JSON.stringify(schema)}`;
  const all = leaves.filter(
    (text) => text.length >= LEAST_LENGTH && !holds(known, text) && !/^(true|false|null)$/.test(text),
  );
  return [...new Set(all)];
}

function tellingParts(answer: string): readonly string[] {
  return [...answer.matchAll(TELLING)].map((match) => match.slice(1).find((group) => group !== undefined) ?? '');
}

function holds(text: string, literal: string): boolean {
  return text.includes(literal) || text.includes(JSON.stringify(literal).slice(1, -1));
}

/** Whether a text names it in a list: who is told what there is does not know which of them is right. */
function isOneOfMany(text: string, literal: string): boolean {
  const sentence = text.split(/(?<=[.:;])\s/).find((part) => holds(part, literal)) ?? '';
  return (sentence.match(/, /g) ?? []).length >= 2;
}
