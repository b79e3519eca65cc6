import { closeSync, fstatSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { takeHarnessKey } from '../../../src/environment/server/harness-key.ts';

function openFile(text: string): number {
  const folder = mkdtempSync(join(tmpdir(), 'proctor-key-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'key'), text);
  return openSync(join(folder, 'key'), 'r');
}

describe('the harness key', () => {
  it('is the descriptor’s, then the option’s, then the variable’s', () => {
    const variables = (fd: number) => ({ PROCTOR_HARNESS_KEY_FD: String(fd), PROCTOR_HARNESS_KEY: ' variable ' });
    expect(takeHarnessKey('option', variables(openFile('descriptor')))).toBe('descriptor');
    expect(takeHarnessKey(undefined, variables(openFile(' descriptor\n')))).toBe('descriptor');
    expect(takeHarnessKey('option', { PROCTOR_HARNESS_KEY: 'variable' })).toBe('option');
    expect(takeHarnessKey(undefined, { PROCTOR_HARNESS_KEY: ' variable ' })).toBe('variable');
    expect(takeHarnessKey(undefined, {})).toBeUndefined();
  });

  it('leaves neither the variables nor the descriptor behind, whichever wins', () => {
    const fd = openFile('descriptor');
    const variables = { PROCTOR_HARNESS_KEY_FD: String(fd), PROCTOR_HARNESS_KEY: 'variable', OTHER: 'stays' };
    takeHarnessKey('option', variables);
    expect(variables).toEqual({ OTHER: 'stays' });
    expect(() => fstatSync(fd)).toThrow(/EBADF/);
  });

  it('is an error when it is empty, and the descriptor when it is something else', () => {
    expect(() => takeHarnessKey('', {})).toThrow(/harnessKey option is empty/);
    expect(() => takeHarnessKey(undefined, { PROCTOR_HARNESS_KEY: ' ' })).toThrow(/PROCTOR_HARNESS_KEY is empty/);
    expect(() => takeHarnessKey(undefined, { PROCTOR_HARNESS_KEY_FD: String(openFile('\n')) })).toThrow(/is empty/);
    const folder = openSync(tmpdir(), 'r');
    expect(() => takeHarnessKey(undefined, { PROCTOR_HARNESS_KEY_FD: String(folder) })).toThrow(
      /not a pipe, a socket or a file/,
    );
    closeSync(folder);
  });
});
