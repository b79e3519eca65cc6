import { describe, expect, it } from 'vitest';
import { splitByText } from '../../../src/web/app/components/split-text.ts';
import { toArgumentParts } from '../../../src/web/app/trace/steps/argument-parts.ts';
import { highlight } from '../../../src/web/app/trace/steps/highlight.ts';
import { diffLines, readPatch } from '../../../src/web/app/trace/steps/line-diff.ts';
import { collectPictures, markOf, toSource } from '../../../src/web/app/trace/steps/pictures.ts';

const signed = (lines: ReturnType<typeof diffLines>) =>
  lines.map(({ kind, text }) => `${{ same: ' ', removed: '-', added: '+' }[kind]}${text}`);

describe('an edit', () => {
  it('is the lines that go and the lines that come, and loses none', () => {
    expect(signed(diffLines('a\nb\nc\nd', 'a\nx\nc\ny\nd'))).toEqual([' a', '-b', '+x', ' c', '+y', ' d']);
    expect(signed(diffLines('', 'a\nb'))).toEqual(['+a', '+b']);
    expect(signed(diffLines('same', 'same'))).toEqual([' same']);
  });

  it('gives back both texts, whatever they are', () => {
    const texts = ['', 'a', 'a\na\nb', 'b\na\na', '\n\n', 'x\ny\nz\nx', 'y\nx\ny'];
    for (const before of texts) {
      for (const after of texts) {
        const lines = diffLines(before, after);
        const side = (kind: string) =>
          lines
            .filter((line) => line.kind !== kind)
            .map(({ text }) => text)
            .join('\n');
        expect([before, after, side('added'), side('removed')]).toEqual([before, after, before, after]);
      }
    }
  });

  it('of texts that are too long to compare replaces all of one by the other', () => {
    const long = Array.from({ length: 1_500 }, (_, index) => `line ${index}`);
    const lines = diffLines(long.join('\n'), [...long].reverse().join('\n'));
    expect(lines.filter(({ kind }) => kind === 'removed')).toHaveLength(1_500);
  });

  it('is read from a patch, too, without taking its head for a change', () => {
    expect(signed(readPatch('--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new'))).toEqual([
      ' --- a/x',
      ' +++ b/x',
      ' @@ -1 +1 @@',
      '-old',
      '+new',
    ]);
  });
});

describe('the arguments of a call', () => {
  it('are shown as an edit, as code, and the rest as JSON; none is left out', () => {
    const parts = toArgumentParts({ path: 'a.ts', old_str: 'a', new_str: 'b', all: true });
    expect([parts.edit?.title, parts.edit?.lines.length, parts.code, parts.rest]).toEqual([
      'a.ts',
      2,
      [],
      { path: 'a.ts', all: true },
    ]);
    const command = 'npm test -- --reporter=verbose --bail';
    expect(toArgumentParts({ command, timeout: 5 })).toMatchObject({
      code: [{ name: 'command', text: command }],
      rest: { timeout: 5 },
    });
    expect(toArgumentParts({ command: 'ls' }).rest).toEqual({ command: 'ls' });
    expect(toArgumentParts({ command }).rest).toBeUndefined();
    expect(toArgumentParts({}).rest).toEqual({});
    expect(toArgumentParts({ old_str: 1, new_str: 'b' }).rest).toEqual({ old_str: 1, new_str: 'b' });
  });
});

describe('code', () => {
  it('is coloured without a character being lost', () => {
    for (const code of [
      'const a = "x // no comment"; // yes\nreturn 1.5e3',
      "# a comment\nls -la --all 'it'  # another\ncolor=#fff",
      'SELECT * FROM t WHERE a = 1 -- not for a shell',
      '"never closed\n`neither',
      '',
    ]) {
      expect(
        highlight(code)
          .map(({ text }) => text)
          .join(''),
      ).toBe(code);
    }
    const kinds = (code: string) =>
      highlight(code)
        .filter(({ kind }) => kind !== 'plain')
        .map(({ kind, text }) => `${kind}:${text}`);
    expect(kinds('const a = "x // y"; // z')).toEqual(['keyword:const', 'string:"x // y"', 'comment:// z']);
    expect(kinds('npm test --silent -- --bail')).toEqual([]);
  });
});

describe('a search', () => {
  it('marks what is written, whatever its case, and changes nothing', () => {
    expect(splitByText('Abc abC', 'abc')).toEqual(['', 'Abc', ' ', 'abC', '']);
    expect(splitByText('nothing', 'abc')).toEqual(['nothing']);
    expect(splitByText('İstanbul', 'stan')).toEqual(['İstanbul']);
    expect(splitByText('a.c', '.')).toEqual(['a', '.', 'c']);
  });
});

describe('pictures', () => {
  const blob = (sha256: string) => `/v1/blobs/${sha256}`;

  it('have an address for bytes and references to some alone', () => {
    expect(toSource('aGVsbG8=', 'image/png', blob)).toBe('data:image/png;base64,aGVsbG8=');
    const sha256 = 'ab'.repeat(32);
    expect(toSource(`svc-blob://sha256/${sha256}`, 'image/webp', blob)).toBe(`/v1/blobs/${sha256}`);
    for (const data of [
      'https://evil.example/x.png',
      'svc-blob://sha256/../x',
      'javascript:alert(1)',
      'a b',
      7,
      undefined,
    ]) {
      expect([data, toSource(data, 'image/png', blob)]).toEqual([data, undefined]);
    }
    expect(toSource('aGVsbG8=', 'image/svg+xml', blob)).toBeUndefined();
  });

  it('know the place that a call names', () => {
    const call = (given: Readonly<Record<string, unknown>>) => markOf({ name: 'computer', arguments: given });
    expect(call({ action: 'left_click', coordinate: [10, 20] })).toEqual({
      x: 10,
      y: 20,
      label: 'left_click at 10, 20',
    });
    expect(call({ x: 1, y: 2 })).toMatchObject({ x: 1, y: 2 });
    expect(call({ x: -1, y: 2 })).toBeUndefined();
    expect(call({ x: '1', y: 2 })).toBeUndefined();
    expect(collectPictures([], blob)).toEqual([]);
  });
});
