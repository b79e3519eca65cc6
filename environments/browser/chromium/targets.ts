import type { Locator, Page } from 'playwright-core';
import { ToolError } from 'proctor';

const CLICKABLE_ROLES = ['button', 'link', 'radio', 'checkbox'] as const;
const FIELD_ROLES = ['textbox', 'searchbox', 'spinbutton'] as const;

/** References of Playwright's outline of a page: `e12`, and with the number of its document `f3e12`. */
const REFERENCE = /^(?:f\d+)?e\d+$/;

/**
 * What an agent means by a reference or by the text that something shows: what is named exactly so before what only
 * contains it, what can be acted on before what is merely text.
 *
 * @throws ToolError when there is nothing of the kind, or more than one.
 */
export async function findTarget(page: Page, target: string, kind: 'field' | 'any'): Promise<Locator> {
  const wanted = target.trim();
  if (REFERENCE.test(wanted)) {
    const found = page.getByRef(wanted);
    if ((await found.count().catch(() => 0)) === 1) return found;
    throw new ToolError(`There is no ${wanted} on this page: references hold until it changes. Use read_page again`);
  }
  for (const candidates of candidatesFor(page, wanted, kind)) {
    const visible = candidates.filter({ visible: true });
    const count = await visible.count();
    if (count === 1) return visible;
    if (count > 1) throw new ToolError(`${count} things show "${wanted}": use a reference from read_page`);
  }
  const what = kind === 'field' ? 'field is labelled' : 'thing shows';
  throw new ToolError(`No ${what} "${wanted}" on this page. read_page says what there is`);
}

function candidatesFor(page: Page, text: string, kind: 'field' | 'any'): Locator[] {
  const roles = kind === 'field' ? FIELD_ROLES : [...CLICKABLE_ROLES, ...FIELD_ROLES];
  const named = (exact: boolean) =>
    roles.map((role) => page.getByRole(role, { name: text, exact })).reduce((all, one) => all.or(one));
  const texts = kind === 'any' ? [page.getByText(text, { exact: true }), page.getByText(text)] : [];
  return [named(true), named(false), ...texts];
}
