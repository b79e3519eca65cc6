import { ApiError } from '../../../contract/errors.ts';
import { METADATA_LIMITS } from '../../../contract/service/run.ts';

/**
 * Limits the metadata, since each entry becomes a row for filters. @throws ApiError invalid_parameter with the entry
 * at fault.
 */
export function checkMetadata(metadata: Readonly<Record<string, string>>): void {
  const entries = Object.entries(metadata);
  const { keys, keyCharacters, valueCharacters } = METADATA_LIMITS;
  if (entries.length > keys) {
    throw refused('metadata', `metadata has ${entries.length} entries; ${keys} are as many as a run may have.`);
  }
  for (const [key, value] of entries) {
    const param = `metadata.${key.slice(0, keyCharacters)}`;
    if (key === '' || key.length > keyCharacters) {
      throw refused(param, `A key of metadata has 1 to ${keyCharacters} characters; one has ${key.length}.`);
    }
    if (value.length > valueCharacters) {
      throw refused(param, `${param} has ${value.length} characters; a value has at most ${valueCharacters}.`);
    }
    if (`${key}${value}`.includes('\0'))
      throw refused(param, `${param} holds a zero character, which cannot be stored.`);
  }
}

function refused(param: string, message: string): ApiError {
  return new ApiError('invalid_parameter', message, { param });
}
