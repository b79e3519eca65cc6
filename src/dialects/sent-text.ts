import type { AssistantMessage } from '../contract/chat.ts';
import type { ModelDelta } from './model-output.ts';

const FIELDS = ['reasoning', 'content', 'refusal'] as const;
type Field = (typeof FIELDS)[number];

/** How much of each text of a response a stream has sent. */
export class SentText {
  readonly #sent: Record<Field, string> = { reasoning: '', content: '', refusal: '' };

  /** Takes a piece. @returns the fields of it that hold something, in the order in which a model says them. */
  take(delta: ModelDelta): { readonly field: Field; readonly text: string }[] {
    return FIELDS.flatMap((field) => {
      const text = delta[field] ?? '';
      this.#sent[field] += text;
      return text === '' ? [] : [{ field, text }];
    });
  }

  /** All that was sent of a text. */
  of(field: Field): string {
    return this.#sent[field];
  }

  /** The part of a whole message that has not been sent. */
  rest(message: AssistantMessage): ModelDelta {
    const rest: { -readonly [Name in Field]?: string } = {};
    for (const field of FIELDS) {
      const whole = message[field] ?? '';
      if (whole.startsWith(this.#sent[field])) rest[field] = whole.slice(this.#sent[field].length);
    }
    return rest;
  }
}
