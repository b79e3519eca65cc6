import type { Judgement, JudgeRequest } from '../../../contract/service/judge.ts';
import type { JudgementRecord } from '../../../contract/service/trace.ts';
import { judgeKey, toJudgement } from './judge.ts';

/** A verdict of an earlier run, with the model that gave it. */
export interface RecordedVerdict extends Judgement {
  readonly model: string;
}

/** Verdicts of judges in earlier runs. Each is used once, in the recorded order. */
export class RecordedVerdicts {
  readonly #records: JudgementRecord[];

  /** @param records in the order in which they are used. */
  constructor(records: readonly JudgementRecord[]) {
    this.#records = [...records];
  }

  /**
   * Finds the verdict on an equal question: same rubric, material, context and scale, by the same model. A record with
   * more votes gives its first ones.
   *
   * @param model undefined if no judge is configured now: a verdict of any model fits then.
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

/** A single vote is sampled without a temperature and several votes with one, so one cannot replace the other. */
function isEnough(recorded: number, asked: number): boolean {
  return recorded === asked || (asked > 1 && recorded > asked);
}

/** Compares by key, because a record keeps only the beginning of its material. */
function isOf({ key, model, votes }: JudgementRecord, question: JudgeRequest): boolean {
  return key === judgeKey({ ...question, votes: votes.length }, model);
}
