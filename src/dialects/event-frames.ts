import { toOneLine } from '../text/one-line-json.ts';

/** An event of a stream that has a name. */
export function namedFrame(name: string, data: object): string {
  return `event: ${name}\ndata: ${toOneLine(data)}\n\n`;
}

export function dataFrame(data: object): string {
  return `data: ${toOneLine(data)}\n\n`;
}
