import { isJsonObject, type Json, type JsonObject } from '../../contract/json.ts';
import type { LearnedMessage } from './conversation.ts';
import { counterpart, countOf, likeness, replaceValues, type Token } from './tokens.ts';

/** A learned conversation and its task. */
export interface Lesson {
  readonly messages: readonly LearnedMessage[];
  readonly task: Task;
}

interface Task {
  readonly tokens: readonly Token[];
  readonly shapes: ReadonlyMap<string, number>;
}

/** The next message of an assistant. */
export interface Imitated {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly arguments: JsonObject }[];
}

/** Least similarity of two tasks. Below it they are different kinds of tasks, and nothing is imitated. */
const LEAST_LIKENESS = 0.6;
/** Number of lessons with the most similar tasks that are compared turn by turn. */
const NEAREST = 50;
/** Weight of the task, which counts more than the last message. */
const TASK_WEIGHT = 2;
/** Penalty for each message by which one conversation is longer than the other. */
const LENGTH_WEIGHT = 0.01;

export function toLesson(messages: readonly LearnedMessage[]): Lesson {
  return { messages, task: toTask(messages) };
}

/**
 * Imitates the most similar moment of the learned conversations: with a similar task, the same last tool, and a similar
 * result. Values are replaced by those of this conversation: an id is taken from the corresponding place here.
 *
 * @returns undefined when no learned task is similar.
 */
export function imitate(lessons: readonly Lesson[], messages: readonly LearnedMessage[]): Imitated | undefined {
  const here = toTask(messages);
  const near = lessons
    .map((lesson) => ({ lesson, alike: likeness(lesson.task.shapes, here.shapes) }))
    .filter(({ alike }) => alike >= LEAST_LIKENESS)
    .sort((a, b) => b.alike - a.alike)
    .slice(0, NEAREST);
  const examples: Example[] = [];
  for (const { lesson, alike } of near) {
    for (const [at, message] of lesson.messages.entries()) {
      if (message.role !== 'assistant' || !message.isTrained) continue;
      const score = scoreOf(lesson, at, messages, here);
      if (score !== undefined) examples.push({ lesson, at, message, score: TASK_WEIGHT * alike + score });
    }
  }
  const best = chooseExample(examples);
  if (best === undefined) return undefined;
  const example = best.message;
  const carry = carrier(best.lesson.messages.slice(0, best.at), messages);
  return {
    text: replaceValues(example.text, ({ text }) => carry(text)),
    calls: example.calls.map(({ name, arguments: given }) => ({ name, arguments: carryObject(given, carry) })),
  };
}

interface Example {
  readonly lesson: Lesson;
  readonly at: number;
  readonly message: LearnedMessage;
  readonly score: number;
}

/** Among equally good examples, the most frequent kind of step wins. A call wins over an answer. */
function chooseExample(examples: readonly Example[]): Example | undefined {
  const most = Math.max(...examples.map(({ score }) => score));
  const nearest = examples.filter(({ score }) => most - score < 1e-9);
  const kindOf = ({ message }: Example) => message.calls.map(({ name }) => name).join(' ');
  const kinds = countOf(nearest.map(kindOf));
  const weight = (example: Example) => (kinds.get(kindOf(example)) ?? 0) + (example.message.calls.length > 0 ? 0.5 : 0);
  return nearest.toSorted((a, b) => weight(b) - weight(a))[0];
}

function toTask(messages: readonly LearnedMessage[]): Task {
  const tokens = messages.flatMap((message) => (message.role === 'user' ? message.tokens : []));
  return { tokens, shapes: countOf(tokens.map(({ shape }) => shape)) };
}

/** Similarity of an example to the last message here. Undefined when role or tool of the messages differ. */
function scoreOf(
  { messages: lesson, task }: Lesson,
  at: number,
  messages: readonly LearnedMessage[],
  here: Task,
): number | undefined {
  const [there, last] = [lesson[at - 1], messages.at(-1)];
  if (there?.role !== last?.role || there?.tool !== last?.tool) return undefined;
  const lengths = LENGTH_WEIGHT * Math.abs(at - messages.length);
  // Only results of tools are compared here. The caller compares the texts of users, as the task.
  if (last?.role !== 'tool' || there === undefined) return 1 - lengths;
  const before = labels(there.tokens, task.tokens, task.tokens);
  const now = labels(last.tokens, here.tokens, task.tokens);
  return likeness(countOf(before), countOf(now)) - lengths;
}

/**
 * The kinds of tokens. A value that also occurs in the task is labelled with its position there, so that reaching it
 * counts.
 */
function labels(tokens: readonly Token[], task: readonly Token[], learned: readonly Token[]): readonly string[] {
  const places = new Map<string, number>();
  for (const [place, token] of learned.entries()) {
    if (!token.isValue) continue;
    const index = task === learned ? place : counterpart(token.text, learned, task);
    const text = index === undefined ? undefined : task[index]?.text;
    if (text !== undefined && !places.has(text)) places.set(text, place);
  }
  return tokens.flatMap(({ text, shape, isValue }) =>
    isValue ? [shape, `place ${places.get(text) ?? 'none'}`] : [shape],
  );
}

type Carry = (value: string) => string;

/** Translates a value of the learned conversation to this one, through the newest learned message that contains it. */
function carrier(learned: readonly LearnedMessage[], messages: readonly LearnedMessage[]): Carry {
  return (value) => {
    for (const source of learned.toReversed()) {
      if (source.role === 'assistant' || source.role === 'system') continue;
      if (!source.tokens.some(({ text }) => text === value)) continue;
      const twin = messages.findLast(({ role, tool }) => role === source.role && tool === source.tool);
      const index = twin && counterpart(value, source.tokens, twin.tokens);
      const found = index === undefined ? undefined : twin?.tokens[index]?.text;
      if (found !== undefined) return found;
    }
    return value;
  };
}

function carryObject(given: JsonObject, carry: Carry): JsonObject {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, carryValue(value, carry)]));
}

function carryValue(value: Json, carry: Carry): Json {
  if (typeof value === 'string') return replaceValues(value, ({ text }) => carry(text));
  if (typeof value === 'number') {
    const carried = Number(carry(String(value)));
    return Number.isFinite(carried) ? carried : value;
  }
  if (Array.isArray(value)) return value.map((each) => carryValue(each, carry));
  return isJsonObject(value) ? carryObject(value, carry) : value;
}
