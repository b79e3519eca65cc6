/** Largest response in bytes after decompression. No model's answer is larger. */
export const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
/** Largest event of a stream in bytes, and longest line in characters. No piece of a response is larger. */
export const MAX_EVENT_BYTES = 8 * 1024 * 1024;
