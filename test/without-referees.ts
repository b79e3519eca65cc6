import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What cannot run without the programs of others in `test/referees`. */
export const REFEREE_TESTS: readonly string[] = [
  'test/interop/inspector.test.ts',
  'test/models/dialects/clients/anthropic.test.ts',
  'test/models/dialects/clients/google.test.ts',

  'test/service/chat/aimock-failures.test.ts',
  'test/service/chat/aimock.test.ts',
  'test/service/chat/clients/ai-sdk.test.ts',
  'test/service/chat/clients/langchain.test.ts',
  'test/service/chat/clients/retries.test.ts',
];

/** The tests to leave out here. Where CI is set they are run, and fail. */
export function testsToLeaveOut(): readonly string[] {
  const installed = fileURLToPath(new URL('referees/node_modules/.package-lock.json', import.meta.url));
  return existsSync(installed) || process.env.CI !== undefined ? [] : REFEREE_TESTS;
}

/** Prints once what a run leaves out. The fast lane has none of these tests. */
export default function sayWhatIsLeftOut(): void {
  if (process.env.TEST_LANE === 'fast') return;
  const tests = testsToLeaveOut();
  if (tests.length === 0) return;
  console.warn(`skipped: ${tests.join(', ')}, since the referees are not installed (npm run referees)`);
}
