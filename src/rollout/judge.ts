import { createHash } from 'node:crypto';
import type { Usage } from '../contract/chat.ts';
import type { Json } from '../contract/json.ts';
import {
  type Judgement,
  type JudgeRequest,
  type JudgeScale,
  type JudgeVote,
  MAX_JUDGE_MATERIAL,
} from '../contract/judge.ts';
import type { ChatModel } from '../model/chat-model.ts';
import { untilAborted } from '../runtime/deadline.ts';
import { toJudgePrompt, toResponseFormat } from './judge-prompt.ts';
import { readVote, shortened } from './read-vote.ts';
import { respondTolerantly } from './tolerant-response.ts';

export interface JudgeCall {
  readonly request: JudgeRequest;
  /** Makes one model for each vote. */
  createModel(): ChatModel;
  /** Seed of a vote, from 1; undefined: none. */
  seedOf(vote: number): number | undefined;
  /** Told of each answer as it comes: also of those of a judge that fails in the end. */
  onUsage?(usage: Usage, vote: number): void;
  readonly signal: AbortSignal;
}

export interface Verdict extends Judgement {
  readonly usages: readonly Usage[];
}

/**
 * Asks a model to judge material by a rubric, as often as there are votes, all at the same time. The first vote that fails
 * ends the others.
 *
 * Rubric and context are the author's. The material may be written by whoever is judged: it stands between two lines with
 * 128 random bits, and the model is told that nothing between them is meant for it.
 *
 * @throws Error for material that is too long, for a vote that does not fit twice, a refusal, and a model that fails.
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

/** Votes as one verdict. */
export function toJudgement(votes: Judgement['votes'], scale: JudgeScale): Judgement {
  const scores = votes.map(({ score }) => score);
  return {
    score: scores.reduce((sum, score) => sum + score, 0) / scores.length,
    reasons: votes.map(({ reason }) => reason),
    votes,
    agreement: agreementOf(scores, scale),
  };
}

/** Equal for equal questions: rubric, material, context, scale and number of votes, to the same model. SHA-256, hex. */
export function judgeKey({ rubric, material, scale, context, votes }: JudgeRequest, model: string): string {
  return createHash('sha256')
    .update(JSON.stringify([model, rubric, material, scale, context, votes]))
    .digest('hex');
}

/** Share of the most frequent vote; for numbers 1 less the distance of the two that are furthest apart. */
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

/** One vote. What does not fit is asked for once more. */
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
