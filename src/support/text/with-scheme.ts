/**
 * ` With its scheme the URL is http://localhost:8320.`, with a leading space, for an address without a scheme;
 * undefined for other texts.
 */
export function withScheme(text: string): string | undefined {
  if (
    !/^(\[[\da-f:]+\]|[a-z\d.-]+):\d{1,5}(\/|$)|^localhost(\/|$)|^[a-z\d-]+(\.[a-z\d-]+)+\/|^\d+(\.\d+){3}$/i.test(text)
  )
    return undefined;
  const isHere = /^(localhost|127\.|\[::1\])/i.test(text) || /:\d+(\/|$)/.test(text);
  const url = `${isHere ? 'http' : 'https'}://${text}`;
  return URL.canParse(url) ? ` With its scheme the URL is ${url}.` : undefined;
}
