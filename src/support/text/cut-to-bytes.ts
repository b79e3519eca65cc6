/** The start of a text that fits into `maxBytes` of UTF-8, cut between two characters. */
export function cutToBytes(text: string, maxBytes: number): { readonly kept: string; readonly isCut: boolean } {
  if (text.length * 3 <= maxBytes) return { kept: text, isCut: false };
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= maxBytes) return { kept: text, isCut: false };
  // In stream mode the decoder drops an unfinished character.
  return { kept: new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true }), isCut: true };
}
