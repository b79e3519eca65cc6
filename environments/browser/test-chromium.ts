import { describe } from 'vitest';
import { findChromium } from './chromium/find-chromium.ts';

/**
 * `describe` for tests that need a real Chromium, and Linux where they look into `/proc`: without them they are skipped,
 * and one line says so.
 */
export function describeWithChromium(file: string, needs: { readonly isLinux: boolean } = { isLinux: false }) {
  const reason = whyNot(needs.isLinux);
  if (reason !== undefined) process.stderr.write(`${file}: its tests with a browser are skipped. ${reason}\n`);
  return reason === undefined ? describe : describe.skip;
}

function whyNot(isLinux: boolean): string | undefined {
  if (isLinux && process.platform !== 'linux') return 'They look for processes in /proc, which Linux alone has';
  try {
    findChromium();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
