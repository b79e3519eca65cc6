import { z } from 'zod';
import { messageOf } from '../../../../contract/errors.ts';
import { isJsonObject } from '../../../../contract/json.ts';
import { META } from '../../../../contract/names.ts';
import { userMessageSchema } from '../../../../contract/scenario.ts';
import {
  type Judgement,
  judgementSchema,
  judgeRequestSchema,
  MAX_JUDGE_MATERIAL,
} from '../../../../contract/service/judge.ts';
import type { JudgeQuestion, ToolContext } from '../../../authoring/definition.ts';
import { NoJudgeError } from '../../../authoring/tool-result.ts';

/** Maximum number of tokens of a verdict with its reasons. */
const VERDICT_TOKENS = 4_096;

/**
 * The judge for requests of agents, which always refuses. Rubrics belong to the harness, and an agent's client must not
 * see one.
 */
export async function refuseJudge(): Promise<never> {
  throw new Error(
    'ctx.judge is for the evaluation of a scenario, which a harness asks for, and for no call of an agent',
  );
}

/**
 * Asks the harness for a verdict, with a sampling request whose purpose is `judge`. The harness writes the prompt for
 * its model, so that the material is always quoted in the same way.
 *
 * @throws Error for an invalid question, and if the client has no judge.
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

/** @throws NoJudgeError; Error if the client answered like an ordinary model, without a verdict. */
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

/** The conversation in the request of an evaluation. Empty if there is none. */
export function conversationOf(meta: ToolContext['meta']): ToolContext['conversation'] {
  return conversationSchema.safeParse(meta[META.conversation]).data ?? [];
}

/** True if the request of an evaluation contains a conversation. A harness that plays users always sends one. */
export function hasConversation(meta: ToolContext['meta']): boolean {
  return conversationSchema.safeParse(meta[META.conversation]).success;
}
