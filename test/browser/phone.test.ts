import { PNG } from 'pngjs';
import { describe, expect, it } from 'vitest';
import { RegisteredModels } from '../../src/store/models/registered-models.ts';
import { openSite } from '../web/site.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { isRefused, signedIn } from './open-trace.ts';

const executablePath = findChromium('test/browser/phone.test.ts');
const PHONE = { viewport: { width: 390, height: 844 } };

describe.skipIf(executablePath === undefined)('on a phone, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  it('the page of a model with long names is as wide as the screen', async () => {
    const site = await openSite();
    const models = new RegisteredModels(site.database);
    const target = `ft:gpt_4_1_mini:${'a0'.repeat(50)}`;
    const metrics = { train_loss: 0.123_456_789, valid_loss: 0.234_567_89, valid_mean_token_accuracy: 0.987_654_3 };
    const checkpoints = [44, 88].map((step) => ({ step, target: `${target}:ckpt-step-${step}`, metrics }));
    await models.add('local', {
      name: 'clerk',
      target,
      base: `${target}_base`,
      gateway: null,
      head: null,
      checkpoints,
    });
    const { page, problems } = await openPage(await signedIn(site, '/models/clerk'), PHONE);
    await page.getByText('ckpt-step-88').first().waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('the navigation shows the page that is open, and a shadow where it goes on', async () => {
    const site = await openSite();
    const { page } = await openPage(await signedIn(site, '/models'), PHONE);
    const nav = page.getByRole('navigation', { name: 'Pages' });
    const current = nav.locator('[aria-current]');
    await current.waitFor();
    const isInSight = () =>
      current.evaluate((link) => {
        const [box, around] = [link, link.parentElement ?? link].map((each) => each.getBoundingClientRect());
        return box !== undefined && around !== undefined && box.left >= around.left && box.right <= around.right;
      });
    await expect.poll(isInSight).toBe(true);
    const edgeAt = async (left: number) => {
      await nav.evaluate((element, to) => element.scrollTo({ left: to }), left);
      const box = await nav.boundingBox();
      if (box === null) throw new Error('The navigation is not shown.');
      const clip = { x: box.x + box.width - 3, y: box.y, width: 2, height: box.height };
      return shadesOf(await page.screenshot({ clip }));
    };
    expect(await edgeAt(0)).toBeGreaterThan(1);
    expect(await edgeAt(10_000)).toBe(1);
    await page.close();
  });
});

/** How many colours a picture has. */
function shadesOf(picture: Buffer): number {
  const { data } = PNG.sync.read(picture);
  return new Set(Array.from({ length: data.length / 4 }, (_, pixel) => data.readUInt32BE(pixel * 4))).size;
}
