import { isJsonObject, type Json } from '../../../contract/json.ts';
import type { UserOfSetup } from '../../../contract/scenario.ts';
import type { ChatModel, ModelRequest, ModelResponse } from '../../../models/gateway/chat-model.ts';
import { answerWith } from '../../../models/gateway/reference/reference-response.ts';

/** The judge of a check for a task without listed verdicts. It always gives the same verdict. */
export const CHECK_JUDGE = 'proctor/check-judge';
/** The user of a check for a task without a script. It asks the agent to go on, and leaves. */
export const CHECK_USER = 'proctor/check-user';

/** True if a fixed user can replace a model, because the user calls no functions. */
export function allowsDefaultUser({ function: isFunction, tools }: UserOfSetup): boolean {
  return !isFunction && tools.length === 0;
}

/** Makes the default user or judge. @throws Error for any other model, because a check asks no gateway. */
export function createDefaultRole(name: string, verdict: boolean): ChatModel {
  if (name === CHECK_USER) return new DefaultUser();
  return new DefaultJudge(name, verdict);
}

class DefaultUser implements ChatModel {
  readonly name = CHECK_USER;
  #replies = 0;

  async respond({ signal }: ModelRequest): Promise<ModelResponse> {
    signal.throwIfAborted();
    this.#replies += 1;
    return answerWith(this.#replies === 1 ? 'Please go on.' : '###STOP###');
  }
}

/** Reads nothing and gives the best or the worst verdict of the scale. */
class DefaultJudge implements ChatModel {
  readonly name: string;
  readonly #isContent: boolean;

  constructor(name: string, isContent: boolean) {
    this.name = name;
    this.#isContent = isContent;
  }

  async respond({ sampling, signal }: ModelRequest): Promise<ModelResponse> {
    signal.throwIfAborted();
    const score = this.name === CHECK_JUDGE ? scoreSchemaOf(sampling.response_format) : undefined;
    if (score === undefined) {
      throw new Error(
        `A check asks no model of a gateway: neither ${JSON.stringify(this.name)} nor that of models.judge`,
      );
    }
    const verdict = score.type === 'boolean' ? this.#isContent : this.#isContent ? score.maximum : score.minimum;
    return answerWith(JSON.stringify({ score: verdict, reason: 'This is the fixed verdict of a check.' }));
  }
}

/** The schema of the score in a judge's question; undefined for other questions. */
function scoreSchemaOf(format: Json | undefined): Readonly<Record<string, Json>> | undefined {
  const score = ['json_schema', 'schema', 'properties', 'score'].reduce<Json | undefined>(
    (value, member) => (isJsonObject(value) ? value[member] : undefined),
    format,
  );
  return isJsonObject(score) ? score : undefined;
}
