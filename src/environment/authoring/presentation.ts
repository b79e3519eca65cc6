import { isJsonObject } from '../../contract/json.ts';
import { preview } from '../../support/schema/json-schema.ts';

/** The properties that clients see in lists, beside the name and the schemas. */
interface Presentation {
  readonly annotations?: unknown;
  readonly audience?: unknown;
  readonly icons?: unknown;
  readonly meta?: unknown;
}

/**
 * Checks the parts of a declaration that clients see. A client rejects a whole list for one entry that is not valid
 * MCP, so mistakes have to be found when the author declares the entry.
 *
 * @param label starts the error messages, such as `Tool "increment"`.
 * @param audiences lists the allowed audiences.
 * @throws TypeError that names the field.
 */
export function checkPresentation(
  label: string,
  config: unknown,
  audiences: readonly unknown[] = ['agent', 'harness'],
): void {
  if (!isJsonObject(config)) {
    throw new TypeError(`${label}: the configuration has to be an object, {} for none, got ${preview(config)}`);
  }
  for (const field of TEXT_FIELDS) checkText(label, field, config[field]);
  const { annotations, audience, icons, meta }: Presentation = config;
  if (audience !== undefined && !audiences.includes(audience)) {
    const choices = audiences.map((each) => JSON.stringify(each)).join(' or ');
    throw new TypeError(`${label}: audience has to be ${choices}, got ${preview(audience)}`);
  }
  if (annotations !== undefined) checkAnnotations(label, annotations);
  if (icons !== undefined && !(Array.isArray(icons) && icons.every(isIcon))) {
    throw new TypeError(`${label}: icons has to be a list of { src }, got ${preview(icons)}`);
  }
  if (meta !== undefined && !(isJsonObject(meta) && isWritable(meta))) {
    throw new TypeError(`${label}: meta has to be an object that JSON can hold, got ${preview(meta)}`);
  }
}

/** @throws TypeError if the value is neither text nor undefined. */
export function checkText(label: string, field: string, value: unknown): void {
  if (value === undefined || typeof value === 'string') return;
  throw new TypeError(`${label}: ${field} has to be text, got ${preview(value)}`);
}

/** True if JSON can hold the value. */
export function isWritable(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}

const TEXT_FIELDS = ['title', 'description', 'mimeType', 'system'] as const;

function checkAnnotations(label: string, annotations: unknown): void {
  if (!isJsonObject(annotations)) {
    throw new TypeError(`${label}: annotations has to be an object, got ${preview(annotations)}`);
  }
  checkText(label, 'annotations.title', annotations.title);
  for (const hint of HINTS) {
    const value = annotations[hint];
    if (value === undefined || typeof value === 'boolean') continue;
    throw new TypeError(`${label}: annotations.${hint} has to be true or false, got ${preview(value)}`);
  }
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

function isIcon(icon: unknown): boolean {
  return isJsonObject(icon) && typeof icon.src === 'string';
}
