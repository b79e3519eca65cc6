import { z } from 'zod';
import { messageOf } from '../../contract/errors.ts';
import { isJsonObject } from '../../contract/json.ts';
import { type Judgement, judgementSchema, judgeRequestSchema, MAX_JUDGE_MATERIAL } from '../../contract/judge.ts';
import { META } from '../../contract/names.ts';
import { userMessageSchema } from '../../contract/scenario.ts';
import type { JudgeQuestion, ToolContext } from '../../environment/definition.ts';
import { NoJudgeError } from '../../environment/no-judge-error.ts';

/** Tokens of a verdict with its reasons. */
const VERDICT_TOKENS = 4_096;

/** A judge for a request of an agent: there is none. Rubrics are the harness's, so that no client of an agent may see one. */
export async function refuseJudge(): Promise<never> {
  throw new Error(
    'ctx.judge is for the evaluation of a scenario, which a harness asks for, and for no call of an agent',
  );
}

/**
 * Asks the harness for a verdict: a sampling request whose purpose is `judge`. The harness writes the words for its model,
 * so that material has one way to stand in them.
 *
 * @throws Error for a question that is none, and where the client has no judge.
 */
export async function askJudge(sample: ToolContext['sample'], question: JudgeQuestion): Promise<Judgement> {
  const { rubric, material, scale, model, votes, context, key } = question;
  const text: string | undefined = typeof material === 'string' ? material : JSON.stringify(material);
  if (text === undefined) throw new TypeError(`ctx.judge: material: there is nothing to judge, it is ${material}`);
  if (text.length > MAX_JUDGE_MATERIAL) {
    throw new RangeError(
      `The material for the judge has ${text.length} characters, and may have ${MAX_JUDGE_MATERIAL}`,
    );
  }
  const asked = judgeRequestSchema.safeParse({ rubric, material: '', scale, model, votes, context });
  if (!asked.success) {
    const [issue] = asked.error.issues;
    throw new TypeError(`ctx.judge: ${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { material: _material, ...request } = asked.data;
  const answer = await sample({
    key,
    messages: [{ role: 'user', content: text }],
    maxTokens: VERDICT_TOKENS,
    meta: { [META.purpose]: 'judge', [META.judge]: request },
  });
  return readJudgement(answer.content.text);
}

/** @throws NoJudgeError; Error for a client that answers as any model would, and judges nothing. */
function readJudgement(text: unknown): Judgement {
  let answer: unknown;
  try {
    answer = JSON.parse(String(text));
    return judgementSchema.parse(answer);
  } catch (cause) {
    if (isJsonObject(answer) && typeof answer.no_judge === 'string') throw new NoJudgeError(answer.no_judge);
    throw new Error(`This client has no judge: it answered with something else than a verdict (${messageOf(cause)})`, {
      cause,
    });
  }
}

const conversationSchema = z.array(userMessageSchema);

/** The conversation that the request of an evaluation carries; empty without one. */
export function conversationOf(meta: ToolContext['meta']): ToolContext['conversation'] {
  return conversationSchema.safeParse(meta[META.conversation]).data ?? [];
}

/** Whether the request of an evaluation carries a conversation: that of a harness which plays users always does. */
export function hasConversation(meta: ToolContext['meta']): boolean {
  return conversationSchema.safeParse(meta[META.conversation]).success;
}
