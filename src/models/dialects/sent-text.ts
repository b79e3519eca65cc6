import type { AssistantMessage } from '../../contract/chat.ts';
import type { ModelDelta } from './model-output.ts';

const FIELDS = ['reasoning', 'content', 'refusal'] as const;
type Field = (typeof FIELDS)[number];

/** Keeps the part of each text that a stream has sent. */
export class SentText {
  readonly #sent: Record<Field, string> = { reasoning: '', content: '', refusal: '' };

  /** Adds a piece. @returns its non-empty fields, in the order in which a model produces them. */
  take(delta: ModelDelta): { readonly field: Field; readonly text: string }[] {
    return FIELDS.flatMap((field) => {
      const text = delta[field] ?? '';
      this.#sent[field] += text;
      return text === '' ? [] : [{ field, text }];
    });
  }

  /** The whole text that was sent for a field. */
  of(field: Field): string {
    return this.#sent[field];
  }

  /** The part of a whole message that was not sent. */
  rest(message: AssistantMessage): ModelDelta {
    const rest: { -readonly [Name in Field]?: string } = {};
    for (const field of FIELDS) {
      const whole = message[field] ?? '';
      if (whole.startsWith(this.#sent[field])) rest[field] = whole.slice(this.#sent[field].length);
    }
    return rest;
  }
}
