/** Reads CSV as RFC 4180 has it. @throws Error for a quote in the middle of a cell. */
export function readCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [[]];
  let at = 0;
  while (at < text.length) {
    const [cell, next] = text[at] === '"' ? readQuoted(text, at + 1) : readPlain(text, at);
    rows.at(-1)?.push(cell);
    if (text[next] === ',') at = next + 1;
    else if (text.startsWith('\r\n', next)) {
      at = next + 2;
      if (at < text.length) rows.push([]);
    } else
      throw new Error(`Neither a comma nor the end of a row at ${next}: ${JSON.stringify(text.slice(at, next + 5))}`);
    if (text[at - 1] === ',' && (at === text.length || text.startsWith('\r\n', at))) rows.at(-1)?.push('');
    if (text[at - 1] === ',' && text.startsWith('\r\n', at)) {
      at += 2;
      if (at < text.length) rows.push([]);
    }
  }
  return rows;
}

function readPlain(text: string, at: number): readonly [string, number] {
  const length = text.slice(at).search(/,|\r\n/);
  const end = length === -1 ? text.length : at + length;
  return [text.slice(at, end), end];
}

function readQuoted(text: string, at: number): readonly [string, number] {
  let cell = '';
  for (let index = at; index < text.length; index++) {
    if (text[index] !== '"') cell += text[index];
    else if (text[index + 1] === '"') {
      cell += '"';
      index += 1;
    } else return [cell, index + 1];
  }
  throw new Error('A quoted cell does not end');
}
