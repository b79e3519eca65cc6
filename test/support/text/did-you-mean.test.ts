import { describe, expect, it } from 'vitest';
import { didYouMean } from '../../../src/support/text/did-you-mean.ts';
import { withScheme } from '../../../src/support/text/with-scheme.ts';

describe('a name that is nearly right', () => {
  const known = ['counter', 'count_to', 'retail', 'ab'];
  it.each([
    ['countr', 'counter'],
    ['Counter', 'counter'],
    ['coutner', 'counter'],
    ['count-to', 'count_to'],
    ['retial', 'retail'],
  ])('%s is %s', (name, nearest) => {
    expect(didYouMean(name, known)).toBe(` Did you mean "${nearest}"?`);
  });

  it.each(['', 'x', 'desk', 'workspace', 'a'.repeat(5_000)])('%s is near to none', (name) => {
    expect(didYouMean(name, known)).toBe('');
  });
});

describe('a URL without its scheme', () => {
  it.each([
    ['localhost:8320', 'http://localhost:8320'],
    ['localhost/mcp', 'http://localhost/mcp'],
    ['127.0.0.1:8000/mcp', 'http://127.0.0.1:8000/mcp'],
    ['[::1]:8000', 'http://[::1]:8000'],
    ['desk.example/mcp', 'https://desk.example/mcp'],
    ['desk:9000', 'http://desk:9000'],
  ])('%s is %s', (text, url) => {
    expect(withScheme(text)).toBe(` With its scheme the URL is ${url}.`);
  });

  it.each(['counter', './counter', '../counter/environment.ts', 'environment.ts', 'counter:count_to', ''])(
    '%s is none',
    (text) => {
      expect(withScheme(text)).toBeUndefined();
    },
  );
});
