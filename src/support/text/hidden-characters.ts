/**
 * Control characters, and format characters that hide or reorder text: terminal escapes, zero-width spaces, direction
 * overrides, and tags, which can hide text from people but not from models. Joiners are allowed, because emoji use
 * them.
 */
export const HIDDEN_CHARACTERS = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
