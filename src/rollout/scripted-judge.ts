import type { Json } from '../contract/json.ts';
import type { ChatModel, ModelRequest, ModelResponse } from '../model/chat-model.ts';
import { JUDGE_SCRIPT } from '../model/harness-models.ts';
import { answerWith } from '../model/reference-response.ts';

/** A judge that reads nothing: it gives the verdicts of a list in turn, and begins anew at its end. */
export class ScriptedJudge implements ChatModel {
  readonly name = JUDGE_SCRIPT;
  readonly #script: Json | undefined;
  #given = 0;

  /** @param script booleans, or numbers of the question's scale. Checked when a verdict is asked for. */
  constructor(script: Json | undefined) {
    this.#script = script;
  }

  async respond({ signal }: ModelRequest): Promise<ModelResponse> {
    signal.throwIfAborted();
    const script = this.#script;
    const isScript = Array.isArray(script) && script.every((each) => ['boolean', 'number'].includes(typeof each));
    if (!isScript || script.length === 0) {
      throw new Error(
        `${JUDGE_SCRIPT} gives the verdicts that the argument judge_script of the scenario lists, booleans or numbers; it is ${JSON.stringify(script)}`,
      );
    }
    const score = script[this.#given % script.length] ?? null;
    this.#given += 1;
    return answerWith(JSON.stringify({ score, reason: 'The script says so.' }));
  }
}
