import { isJsonObject } from '../../../contract/json.ts';

const REFERENCE = /^attachment:\/\/([0-9a-f]{32}|\d{1,9})$/;
const REFERENCES = /attachment:\/\/([0-9a-f]{32}|\d{1,9})/g;

/** Largest number of inserted characters. An attachment may be referred to many times. */
const MAX_CHARACTERS = 512 * 1024 * 1024;

/**
 * Replaces references to attachments in a sample by their texts. A reference to a missing attachment stays. Attachments
 * are not searched for references, so there are no cycles.
 */
export function withAttachments(sample: unknown): unknown {
  const attachments = isJsonObject(sample) ? sample.attachments : undefined;
  if (!isJsonObject(attachments) || Object.keys(attachments).length === 0) return sample;
  let characters = 0;
  const textOf = (name: string): string | undefined => {
    const text = Object.hasOwn(attachments, name) ? attachments[name] : undefined;
    if (typeof text !== 'string' || characters + text.length > MAX_CHARACTERS) return undefined;
    characters += text.length;
    return text;
  };
  const fill = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') {
      if (!value.includes('attachment://')) return value;
      const whole = REFERENCE.exec(value)?.[1];
      if (whole !== undefined) return textOf(whole) ?? value;
      return value.replaceAll(REFERENCES, (reference, name: string) => textOf(name) ?? reference);
    }
    if (Array.isArray(value)) return value.map((each) => fill(each, ''));
    if (!isJsonObject(value) || key === 'attachments') return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, fill(each, name)]));
  };
  return fill(sample, '');
}
