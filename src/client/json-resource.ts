import type { ReadResourceResult } from '@modelcontextprotocol/client';

/** The JSON of a resource that is one text; undefined for anything else. */
export function jsonOf({ contents: [first] }: ReadResourceResult): unknown {
  try {
    return JSON.parse(first !== undefined && 'text' in first ? first.text : '');
  } catch {
    return undefined;
  }
}
