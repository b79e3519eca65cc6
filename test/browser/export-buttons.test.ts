import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { importFile } from '../../src/store/traces/import-file.ts';
import { NO_REDACTION } from '../../src/support/redaction/redactor.ts';
import { begun, ending, setUp, steps } from '../web/traces.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { isRefused, openSiteWith } from './open-trace.ts';

const executablePath = findChromium('test/browser/export-buttons.test.ts');

describe.skipIf(executablePath === undefined)('the buttons of a trace for other tools, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  it('save files that are imported again, and the list shows what was imported', async () => {
    const { site, address } = await openSiteWith([...begun, setUp, ...steps('none'), ...ending]);
    const { page, problems } = await openPage(address);
    const folder = await mkdtemp(join(tmpdir(), 'proctor-buttons-'));
    onTestFinished(async () => {
      await page.close();
      await rm(folder, { recursive: true });
    });
    const ids = new Set<string>();
    for (const label of ['ATIF', 'Inspect']) {
      const downloading = page.waitForEvent('download');
      await page.getByRole('link', { name: label, exact: true }).click();
      const file = join(folder, (await downloading).suggestedFilename());
      await (await downloading).saveAs(file);
      const { traceIds } = await importFile(site.database, file, { account: 'local', redactor: NO_REDACTION });
      expect(traceIds).toHaveLength(1);
      for (const id of traceIds) ids.add(id);
    }
    await page.goto(`${site.url}/?origin=import`);
    for (const id of ids) await page.locator(`a[href="/traces/${id}"]`).first().waitFor();
    expect(problems).toEqual([]);
  });
});
