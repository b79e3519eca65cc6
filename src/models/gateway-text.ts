import { withoutMachineText } from '../support/redaction/machine-text.ts';
import { cutToBytes } from '../support/text/cut-to-bytes.ts';

const MAX_TEXT_BYTES = 1_024;
/** Shortest key that is removed. A shorter one is a dummy of a gateway without keys, and part of many words. */
const MIN_KEY_LENGTH = 4;

/** Patterns of credentials, each with the replacement of a match. */
const CREDENTIALS: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[^\s"',;]{6,}/gi, '$1 [key]'],
  [/\b((?:x-)?(?:api|goog-api|auth)[-_ ]?(?:key|token))(["']?\s*[:=]\s*["']?)[^\s"',;&]{8,}/gi, '$1$2[key]'],
  [/([?&](?:key|token|access_token)=)[^\s&"']+/gi, '$1[key]'],
  [/\b(?:sk|pk|rk|gsk|hf|xai|nvapi|ghp)[-_][\w*.-]{4,}/g, '[key]'],
  [/\bAIza[\w-]{16,}/g, '[key]'],
  [/(\/\/)[^\s/@]+@/g, '$1'],
];

/**
 * Cleans a gateway's text for messages: no keys (given ones and anything that looks like one), no stack traces or
 * paths, no control characters, one line, and at most 1 KiB of UTF-8.
 */
export function cleanGatewayText(text: string, keys: readonly string[]): string {
  let cleaned = text;
  for (const key of keys) if (key.length >= MIN_KEY_LENGTH) cleaned = cleaned.replaceAll(key, '[key]');
  for (const [pattern, replacement] of CREDENTIALS) cleaned = cleaned.replace(pattern, replacement);
  cleaned = withoutMachineText(cleaned)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  const { kept, isCut } = cutToBytes(cleaned, MAX_TEXT_BYTES - '…'.length * 3);
  return isCut ? `${kept}…` : kept;
}
