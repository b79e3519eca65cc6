/** True when HTML is preferred to JSON, as by browsers. Clients that accept anything get JSON. */
export function prefersHtml(accept = ''): boolean {
  const weights = accept.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return [type, quality === undefined ? 1 : Number(quality)] as const;
  });
  const weightOf = (type: string) => weights.find(([name]) => name === type)?.[1] ?? 0;
  return weightOf('text/html') > weightOf('application/json');
}
