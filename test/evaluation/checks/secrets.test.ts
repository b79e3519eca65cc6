import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CheckedEnvironment } from '../../../src/contract/service/check.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { asModule, check, findingsOf, inThisProcess } from './check.ts';

/** Each starts some fifteen processes, one after the other. */
const PATIENCE = { timeout: 300_000 } as const;
const KEY = 'planted-gateway-key';
const KEYS = [{ name: 'gateway_key', value: KEY }];

function envFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'proctor-secrets-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, '.env'), text);
  return join(folder, '.env');
}

function withVariables(target: EnvironmentTarget, env: Readonly<Record<string, string>>): EnvironmentTarget {
  return { ...target, env } as EnvironmentTarget;
}

const stateOf = ({ tried }: CheckedEnvironment) => tried.find(({ finding }) => finding === 'secrets')?.state;
const notesOf = ({ findings }: CheckedEnvironment) =>
  findings.filter(({ finding, untried }) => finding === 'secrets' && untried).map(({ message }) => message);

describe.skipIf(process.platform !== 'linux')(
  'an environment whose process holds a key of the operator',
  PATIENCE,
  () => {
    it('that its code has loaded from a file is found by secrets, by the name of the variable, and accused of nothing else', async () => {
      const file = envFile(`SHOP_NAME=shelf\nCLAUDE_KEY=${KEY}\n`);
      const target = withVariables(asModule('./unsound/loads-the-env-file.ts'), { PROJECT_FILE: file });
      const checked = await check(target, { tasks: 1, keys: KEYS });
      expect(findingsOf(checked, 'error'), JSON.stringify(checked.findings, null, 1)).toEqual(['secrets']);
      expect(checked.findings[0]?.message).toContain('CLAUDE_KEY (gateway_key)');
      expect(JSON.stringify(checked)).not.toContain(KEY);
    });

    it('that a program of its session has, as a part of an address, is found too', async () => {
      const target = withVariables(asModule('./unsound/starts-with-a-key.ts'), { HELPER_PART: 'planted' });
      const checked = await check(target, { tasks: 1, keys: KEYS });
      expect(findingsOf(checked, 'error'), JSON.stringify(checked.findings, null, 1)).toEqual(['secrets']);
      expect(checked.findings[0]?.message).toContain('HELPER_ADDRESS (gateway_key)');
    });

    it('is not accused of a key of its own, and was tried', async () => {
      const file = envFile('SHOP_KEY=planted-key-of-the-shop\n');
      const target = withVariables(asModule('./unsound/loads-the-env-file.ts'), { PROJECT_FILE: file });
      const checked = await check(target, { tasks: 1, keys: KEYS });
      expect([findingsOf(checked, 'error'), stateOf(checked), notesOf(checked)]).toEqual([[], 'tried', []]);
    });
  },
);

describe('secrets are not tried, and the report gives the reason,', PATIENCE, () => {
  it('in the process of the check', async () => {
    const checked = await check(await inThisProcess('./unsound/pays-idleness.ts'), { tasks: 1, keys: KEYS });
    expect([stateOf(checked), notesOf(checked)]).toEqual([
      'not_tried',
      ['Not tried: it is in the process of the check.'],
    ]);
  });

  it.skipIf(process.platform !== 'linux')('where no key is known', async () => {
    const checked = await check(asModule('./unsound/setup-throws.ts'), { tasks: 1 });
    expect([stateOf(checked), findingsOf(checked, 'error')]).toEqual(['not_tried', ['start']]);
    expect(notesOf(checked)).toEqual([
      expect.stringContaining('no key of a gateway, a trainer or the service is known'),
    ]);
  });
});
