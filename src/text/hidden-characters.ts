/**
 * Control characters, and format characters that hide text or change its order: terminal escapes, zero-width spaces,
 * overrides of direction, and tags, in which text can be hidden from people but not from models. Emoji are made with the
 * joiners, which are no part of it.
 */
export const HIDDEN_CHARACTERS = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
