import { z } from 'zod';
import type { JudgeScale, JudgeVote } from '../../../contract/service/judge.ts';

/** Longest answer that is read, in characters. A verdict with its reason is far shorter. */
const MAX_ANSWER = 100_000;
/** Longest reason that is kept, in characters. */
const MAX_REASON = 4_000;

const verdictSchema = z.object({ score: z.union([z.boolean(), z.number()]), reason: z.string() });

/** Reads a vote. @returns the vote with a score from 0 to 1, or the problem with the text. */
export function readVote(text: string, scale: JudgeScale): JudgeVote | string {
  if (text.trim() === '') return 'it is empty';
  if (text.length > MAX_ANSWER) return `it has ${text.length} characters`;
  const parsed = verdictSchema.safeParse(jsonIn(text));
  if (!parsed.success) return 'it is not {"score", "reason"}';
  const { score } = parsed.data;
  const reason = shortened(parsed.data.reason);
  if (scale === 'boolean') return typeof score === 'boolean' ? { score: score ? 1 : 0, reason } : 'score is no boolean';
  if (typeof score !== 'number') return 'score is no number';
  if (score < scale.min || score > scale.max) return `score is ${score}, and not from ${scale.min} to ${scale.max}`;
  return { score: (score - scale.min) / (scale.max - scale.min), reason };
}

/** Shortens a reason or a refusal to its kept length. */
export function shortened(text: string): string {
  return text.length > MAX_REASON ? `${text.slice(0, MAX_REASON)}…` : text;
}

/**
 * Parses the text from the first brace to the last, so that prose or a code fence may surround it. Undefined if that is
 * no JSON.
 */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
  } catch {
    return undefined;
  }
}
