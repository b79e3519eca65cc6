import { createHash } from 'node:crypto';
import type { Usage } from '../../../contract/chat.ts';
import type { Json } from '../../../contract/json.ts';
import {
  type Judgement,
  type JudgeRequest,
  type JudgeScale,
  type JudgeVote,
  MAX_JUDGE_MATERIAL,
} from '../../../contract/service/judge.ts';
import type { ChatModel } from '../../../models/gateway/chat-model.ts';
import { untilAborted } from '../../../support/runtime/deadline.ts';
import { respondTolerantly } from '../tolerant-response.ts';
import { toJudgePrompt, toResponseFormat } from './judge-prompt.ts';
import { readVote, shortened } from './read-vote.ts';

export interface JudgeCall {
  readonly request: JudgeRequest;
  /** Makes one model for each vote. */
  createModel(): ChatModel;
  /** Seed of a vote, counted from 1; undefined for no seed. */
  seedOf(vote: number): number | undefined;
  /** Called with the usage of each answer, even if the judge fails in the end. */
  onUsage?(usage: Usage, vote: number): void;
  readonly signal: AbortSignal;
}

export interface Verdict extends Judgement {
  readonly usages: readonly Usage[];
}

/**
 * Asks a model to judge material by a rubric, once for each vote and all at the same time. The first vote that fails
 * cancels the others.
 *
 * The author writes the rubric and the context. The judged agent may write the material, so it stands between two lines
 * with 128 random bits, and the model is told to follow no instruction between them.
 *
 * @throws Error for material that is too long, a vote that does not fit twice, a refusal, or a failed model.
 */
export async function judge({ request, createModel, seedOf, onUsage, signal }: JudgeCall): Promise<Verdict> {
  const { material, scale, votes: count } = request;
  if (material.length > MAX_JUDGE_MATERIAL) {
    throw new Error(`The material for the judge has ${material.length} characters, and may have ${MAX_JUDGE_MATERIAL}`);
  }
  const text = toJudgePrompt(request);
  const usages: Usage[] = [];
  const failed = new AbortController();
  const over = AbortSignal.any([signal, failed.signal]);
  const ask = async (vote: number) => {
    const seed = seedOf(vote);
    const sampling = {
      temperature: count > 1 ? 1 : 0,
      ...(seed === undefined ? {} : { seed }),
      response_format: toResponseFormat(scale),
    };
    const keep = (usage: Usage) => {
      usages.push(usage);
      onUsage?.(usage, vote);
    };
    try {
      return await untilAborted(castVote(createModel(), { text, scale, sampling, signal: over, keep }), over);
    } catch (thrown) {
      failed.abort(thrown);
      throw thrown;
    }
  };
  const settled = await Promise.allSettled(Array.from({ length: count }, (_, index) => ask(index + 1)));
  signal.throwIfAborted();
  failed.signal.throwIfAborted();
  const cast = settled.flatMap((vote) => (vote.status === 'fulfilled' ? [vote.value] : []));
  return { ...toJudgement(cast, scale), usages };
}

/** Combines the votes into one verdict. */
export function toJudgement(votes: Judgement['votes'], scale: JudgeScale): Judgement {
  const scores = votes.map(({ score }) => score);
  return {
    score: scores.reduce((sum, score) => sum + score, 0) / scores.length,
    reasons: votes.map(({ reason }) => reason),
    votes,
    agreement: agreementOf(scores, scale),
  };
}

/**
 * Key that is equal for equal questions: same model, rubric, material, context, scale and number of votes. SHA-256,
 * hex.
 */
export function judgeKey({ rubric, material, scale, context, votes }: JudgeRequest, model: string): string {
  return createHash('sha256')
    .update(JSON.stringify([model, rubric, material, scale, context, votes]))
    .digest('hex');
}

/** Share of the most frequent vote. For numbers: 1 minus the difference between the highest and the lowest vote. */
function agreementOf(scores: readonly number[], scale: JudgeScale): number {
  if (scale !== 'boolean') return 1 - (Math.max(...scores) - Math.min(...scores));
  const yes = scores.filter((score) => score === 1).length;
  return Math.max(yes, scores.length - yes) / scores.length;
}

interface VoteCall {
  readonly text: string;
  readonly scale: JudgeScale;
  readonly sampling: Record<string, Json>;
  readonly signal: AbortSignal;
  keep(usage: Usage): void;
}

/** Casts one vote. An answer that does not fit is asked for once more. */
async function castVote(model: ChatModel, { text, scale, sampling, signal, keep }: VoteCall): Promise<JudgeVote> {
  let problem = '';
  for (let tries = 0; tries < 2; tries += 1) {
    const again =
      problem === '' ? '' : `\n\nYour last answer could not be used: ${problem}. Answer with that JSON alone.`;
    const messages = [{ role: 'user' as const, content: `${text}${again}` }];
    const { message, usage, finishReason } = await respondTolerantly(model, { messages, tools: [], sampling, signal });
    keep(usage);
    if (message.refusal || finishReason === 'content_filter') {
      throw new Error(`The judge ${model.name} refused: ${shortened(message.refusal ?? 'its answer was filtered')}`);
    }
    const read = readVote(message.content ?? '', scale);
    if (typeof read !== 'string') return read;
    problem = finishReason === 'length' ? `${read}, since it was cut at the limit of tokens` : read;
  }
  throw new Error(`The judge ${model.name} gave no verdict that fits, twice: ${problem}`);
}
