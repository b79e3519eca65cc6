import type { Json } from '../../../contract/json.ts';
import type { ChatModel, ModelRequest, ModelResponse } from '../../../models/gateway/chat-model.ts';
import { JUDGE_SCRIPT } from '../../../models/gateway/harness-models.ts';
import { answerWith } from '../../../models/gateway/reference/reference-response.ts';

/** A judge that reads nothing. It gives the verdicts of a list in turn and starts again at its end. */
export class ScriptedJudge implements ChatModel {
  readonly name = JUDGE_SCRIPT;
  readonly #script: Json | undefined;
  #given = 0;

  /** @param script booleans, or numbers on the question's scale. Checked at each question. */
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
