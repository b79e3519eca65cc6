import { toOneLine } from '../../support/text/one-line-json.ts';

/** Frame of a stream event with a name. */
export function namedFrame(name: string, data: object): string {
  return `event: ${name}\ndata: ${toOneLine(data)}\n\n`;
}

export function dataFrame(data: object): string {
  return `data: ${toOneLine(data)}\n\n`;
}
