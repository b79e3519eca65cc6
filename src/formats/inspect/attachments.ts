import { isJsonObject } from '../../contract/json.ts';

const REFERENCE = /^attachment:\/\/([0-9a-f]{32}|\d{1,9})$/;
const REFERENCES = /attachment:\/\/([0-9a-f]{32}|\d{1,9})/g;

/** An attachment may be named many times: what is put in is bounded. */
const MAX_CHARACTERS = 512 * 1024 * 1024;

/**
 * A sample with the texts of its attachments in place of their names. One that is not there stays a name; attachments
 * name no others, so that none leads in a circle.
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
