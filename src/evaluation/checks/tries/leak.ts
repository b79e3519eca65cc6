import type { JsonObject } from '../../../contract/json.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import type { Finding, Subject } from '../finding.ts';
import { answerSchemaOf, resultsOf, textOfPrompt } from '../player/observed.ts';
import type { PlayedSession } from '../player/play.ts';
import type { SessionPlayer } from '../player/session-player.ts';
import { leavesOf, trajectoryOf } from '../player/trajectory.ts';
import { calledTool, type hubFunctionsIn } from './hub-functions.ts';
import { parsed } from './mutants.ts';

/** Least characters of a literal. Shorter ones appear everywhere. */
const LEAST_LENGTH = 4;
/** Matches numbers, names with digits or signs, and quoted texts in an answer that is a sentence. */
const TELLING = /"([^"\n]+)"|'([^'\n]+)'|`([^`\n]+)`|([A-Za-z0-9]*[\d_#@/-][\w#@/.-]*\w)/g;

/** Everything that an agent sees without a call of the solution, with its place. */
export type Seen = readonly {
  readonly where: string;
  readonly text: string;
  /** Functions of a hub that the text describes. */
  readonly functions?: ReturnType<typeof hubFunctionsIn>;
}[];

/** Checks whether an agent sees the solution's answer without working for it. */
export function leak(
  { task, solved }: Subject,
  bench: SessionPlayer,
  seen: Seen,
  plays: readonly PlayedSession[],
): readonly Finding[] {
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

/** Looks for the answer in results of calls that the solution does not make. */
function fromOtherCalls(
  { task, solved }: Pick<Subject, 'task' | 'solved'>,
  bench: SessionPlayer,
  literals: readonly string[],
  plays: readonly PlayedSession[],
): readonly Finding[] {
  const called = (name: string, args: JsonObject) => calledTool(name, args, solved.trace.tools);
  const tools = new Set(trajectoryOf(solved).calls.map((call) => called(call.name, call.arguments)));
  for (const played of plays) {
    for (const { name, arguments: args, content, structured_content, is_error } of resultsOf(played)) {
      const tool = called(name, args);
      if (tools.has(tool) && !is_error) continue;
      const text = JSON.stringify([content, structured_content]);
      const given = JSON.stringify(args);
      const literal = literals.find((each) => holds(text, each) && !holds(given, each));
      if (literal === undefined) continue;
      const message = `The answer of its solution, ${preview(literal)}, is told by ${is_error ? 'an error' : 'a result'} of ${tool} to an agent that has not solved it.`;
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

/**
 * Literals of the answer with 4 or more characters that are not in the prompt, the arguments or the choices of the
 * answer's schema.
 */
function literalsOfAnswer(solved: PlayedSession): readonly string[] {
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

/** True if the text has the literal in a list, which does not say which entry is right. */
function isOneOfMany(text: string, literal: string): boolean {
  const sentence = text.split(/(?<=[.:;])\s/).find((part) => holds(part, literal)) ?? '';
  return (sentence.match(/, /g) ?? []).length >= 2;
}
