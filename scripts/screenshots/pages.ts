import type { Page } from 'playwright-core';
import type { MadeUpRuns } from './made-up-runs.ts';

/** One page that is photographed. To add one, add it to `PAGES`. */
export interface ShownPage {
  /** Of its files: `docs/images/<name>-<light|dark>[-phone].png`. */
  readonly name: string;
  /** Default: the run service. */
  readonly server?: 'scenarios';
  path(runs: MadeUpRuns): string;
  /** A selector of what is there once the page is complete. */
  readonly ready: string;
  readonly isSignedOut?: true;
  /** What somebody does there before the picture is taken. */
  prepare?(page: Page): Promise<void>;
}

export const PAGES: readonly ShownPage[] = [
  { name: 'runs', path: () => '/', ready: '.histogram' },
  { name: 'trace', path: ({ nearly }) => `/traces/${nearly}`, ready: '.verdict' },
  { name: 'trace-failed', path: ({ crashed }) => `/traces/${crashed}`, ready: '.verdict' },
  { name: 'trace-pictures', path: ({ outOfSteps }) => `/traces/${outOfSteps}`, ready: '.picture-strip img' },
  { name: 'trace-live', path: ({ running }) => `/traces/${running}`, ready: '.verdict' },
  {
    name: 'compare',
    path: ({ nearly, passed }) => `/compare?traces=${nearly},${passed}`,
    ready: '.compared-list',
  },
  { name: 'evaluations', path: () => '/evaluations', ready: '.list-models' },
  { name: 'evaluation', path: ({ evaluation }) => `/evaluations/${evaluation}?sort=differs`, ready: '.matrix .cell' },
  {
    name: 'evaluation-tasks',
    path: ({ evaluation }) => `/evaluations/${evaluation}?sort=differs`,
    ready: '.distribution',
    async prepare(page) {
      await page.locator('.matrix .cell').first().waitFor();
      await page.evaluate('document.querySelector("#tasks").scrollIntoView()');
    },
  },
  {
    name: 'compare-evaluations',
    path: ({ evaluation, nextEvaluation }) => `/evaluations/compare?a=${evaluation}&b=${nextEvaluation}`,
    ready: '.compared-table',
  },
  { name: 'environments', path: () => '/environments', ready: '.environment-list' },
  {
    name: 'environment',
    path: () => '/environments/workspace',
    ready: '.reward-strip',
    async prepare(page) {
      const tool = page.locator('.tool-entry', { hasText: 'edit_file' }).first();
      await tool.locator('> summary').click();
      await page.evaluate('scrollTo(0, 0)');
    },
  },
  {
    name: 'environment-tools',
    path: () => '/environments/workspace',
    ready: '.tool-list',
    async prepare(page) {
      for (const name of ['edit_file', 'search']) {
        await page
          .locator('.tool-entry', { has: page.locator(`text="${name}"`) })
          .locator('> summary')
          .click();
      }
      await page.evaluate('document.querySelector("#tools").scrollIntoView()');
    },
  },
  {
    name: 'run-form',
    path: () => '/environments/browser',
    ready: '.reward-strip',
    async prepare(page) {
      await page.getByRole('button', { name: 'Start a run' }).first().click();
      await page.locator('.run-form datalist option').first().waitFor({ state: 'attached' });
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      await page.locator('.run-form [aria-invalid]').first().waitFor();
      await page.evaluate('scrollTo(0, 0)');
    },
  },
  { name: 'usage', path: () => '/usage', ready: '.table' },
  { name: 'sign-in', path: () => '/', ready: 'form', isSignedOut: true, prepare: hideThere },
  {
    name: 'playground',
    server: 'scenarios',
    path: () => '/',
    ready: '#choices',
    async prepare(page) {
      await page.locator('#scenario').selectOption({ label: 'count_to' });
      await page.locator('#argument-target').fill('3');
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      await page.getByText('Your turn:').waitFor();
      await hideThere(page);
    },
  },
];

/** Ports, and ids and durations of a session that has really been played, are others each time. */
function hideWhatChanges(): void {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() !== null) {
    const { currentNode: node } = texts;
    if (node.nodeValue === null) continue;
    node.nodeValue = node.nodeValue
      .replaceAll(/ --port \d+/g, '')
      .replaceAll(/\d+ ms/g, '4 ms')
      .replaceAll(/\b(sess|thread|conv)_[\w-]+/g, '$1_4f0c2a91');
  }
}

function hideThere(page: Page): Promise<void> {
  return page.evaluate(hideWhatChanges);
}
