import type { Locator, Page } from 'playwright-core';

/** The address of the page of the development helpers beside an MCP endpoint. */
export const helpersOf = (url: string) => url.replace(/\/mcp$/, '/svc');

export const form = (page: Page | Locator, label: string) => page.getByRole('form', { name: label, exact: true });

/** Opens an entry of a list of the page, by its name. */
export async function openEntry(place: Page | Locator, name: string): Promise<Locator> {
  const page = 'page' in place ? place.page() : place;
  const has = page.locator('summary code.tool-name', { hasText: exactly(name) });
  const entry = place.locator('details.tool-entry').filter({ has }).first();
  await entry.locator('summary').first().click();
  return entry;
}

/** Gives the page a harness key, and waits until it was tried. */
export async function giveKey(page: Page, key: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Harness key' }).fill(key);
  await page.getByRole('button', { name: 'Use this key' }).click();
  await page.getByText(/The harness key is right|This is not the harness key/).waitFor();
}

/** Opens a scenario, fills the form of its arguments, and sets it up. */
export async function setUpScenario(
  page: Page,
  name: string,
  args: Readonly<Record<string, string>> = {},
): Promise<Locator> {
  const section = page.getByRole('region', { name: /^Scenarios/ });
  const entry = await openEntry(section, name);
  const fields = form(entry, `Play ${name}`);
  for (const [label, value] of Object.entries(args)) await fields.getByLabel(label).fill(value);
  await fields.getByRole('button', { name: 'Set up' }).click();
  return entry;
}

function exactly(text: string): RegExp {
  return new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}$`);
}
