import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/contract/errors.ts';
import { ROOT, read } from './documents.ts';

const page = read('docs/troubleshooting.md');

describe('docs/troubleshooting.md', () => {
  it('quotes messages that the product prints', () => {
    const printed = ['src', 'environments']
      .flatMap((folder) =>
        readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
      )
      .filter((path) => path.endsWith('.ts') && !path.includes('node_modules') && !path.includes('.test.'))
      .map((path) => withoutPieces(read(path)))
      .join('\n');
    const quoted = [...page.matchAll(/^\| `([^`]+ [^`]+)`/gm)].map(([, message = '']) => message);
    expect(quoted.length).toBeGreaterThan(35);
    const pieces = quoted.flatMap((message) => message.split(/"?…"?/).map((piece) => piece.trim()));
    expect(pieces.filter((piece) => !printed.includes(piece))).toEqual([]);
  });

  it('has a row for every error code', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| \d{3} \|/gm)].map(([, code]) => code);
    expect(Object.keys(ERRORS).filter((code) => !rows.includes(code))).toEqual([]);
  });

  it('gives each code the status that the server answers', () => {
    const statuses = [...page.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)].map(
      ([, code = '', status]) => [code, Number(status)] as const,
    );
    const known: Readonly<Record<string, { readonly status: number }>> = ERRORS;
    expect(statuses.filter(([code, status]) => known[code] !== undefined && known[code].status !== status)).toEqual([]);
  });
});

/** Source in which a text that was written in several pieces is one. */
function withoutPieces(source: string): string {
  return source.replace(/['`"]\s*\+\s*['`"]/g, '').replaceAll('\\`', '`');
}
