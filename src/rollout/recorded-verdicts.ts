import type { Judgement, JudgeRequest } from '../contract/judge.ts';
import type { JudgementRecord } from '../contract/trace.ts';
import { judgeKey, toJudgement } from './judge.ts';

/** A verdict of an earlier run, with the model that gave it. */
export interface RecordedVerdict extends Judgement {
  readonly model: string;
}

/** Verdicts of judges in earlier runs. Each is given once, in the order in which they were given then. */
export class RecordedVerdicts {
  readonly #records: JudgementRecord[];

  /** @param records those that come first are taken first. */
  constructor(records: readonly JudgementRecord[]) {
    this.#records = [...records];
  }

  /**
   * The verdict on an equal question: with the same rubric, material, context and scale, by the same model. One of more votes
   * gives the first of them.
   *
   * @param model undefined: no judge is configured today, and that of any is taken.
   */
  take(question: JudgeRequest, model: string | undefined): RecordedVerdict | undefined {
    const at = this.#records.findIndex((record) => {
      if (model !== undefined && record.model !== model) return false;
      return isEnough(record.votes.length, question.votes) && isOf(record, question);
    });
    const [record] = at === -1 ? [] : this.#records.splice(at, 1);
    if (record === undefined) return undefined;
    return { ...toJudgement(record.votes.slice(0, question.votes), record.scale), model: record.model };
  }
}

/** One vote is sampled without a temperature, several with one. */
function isEnough(recorded: number, asked: number): boolean {
  return recorded === asked || (asked > 1 && recorded > asked);
}

/** A record keeps the beginning of its material: its key is of all of it. */
function isOf({ key, model, votes }: JudgementRecord, question: JudgeRequest): boolean {
  return key === judgeKey({ ...question, votes: votes.length }, model);
}
