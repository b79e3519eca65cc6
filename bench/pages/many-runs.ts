import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { median } from '../mcp/load.ts';
import { generateTraces } from '../run-service/generate-traces.ts';
import { launchChromium, openSite } from './site.ts';

/** The issue's size; less of it for a look: `BENCH_TRACES=50000 npm run bench -- list`. */
const COUNT = Number(process.env.BENCH_TRACES ?? 1_000_000);
/** A database that was filled before, instead of a new one. */
const FILLED = process.env.BENCH_TRACES_SQLITE;
const ROUNDS = 9;
const LIMIT_MS = 10_000;
const TARGETS = { listMs: 100, summaryMs: 400 } as const;

const FILTERS = [
  'env_name=retail',
  'model=openai%2Fgpt-5-mini',
  'status=failed',
  'origin=chat',
  'min_reward=1',
  'sort=tokens',
  'metadata.team=research',
  'env_name=workspace&status=completed&sort=duration',
] as const;

/**
 * The page of runs over a million traces in Chromium: from the click on a link with a filter until its rows are in the
 * document, and until its sums are. The floor is a filter that lets nothing through.
 */
export async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-bench-'));
  const database = await openDatabase(FILLED ?? `sqlite:${join(folder, 'proctor.db')}`);
  if (FILLED === undefined) await generateTraces(database, { count: COUNT });
  const site = await openSite(database);
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: { width: 1_440, height: 900 } });
    await page.goto(`${site.url}/?token=${site.token}`);
    await page.goto(`${site.url}/`);
    await page.locator('tbody tr').first().waitFor();
    console.log(`The page of runs over ${COUNT.toLocaleString('en')} traces in Chromium ${browser.version()}`);
    console.log('| filter | list ms, median / worst | sums ms, median / worst |\n|---|--:|--:|');
    let isMet = true;
    for (const query of ['env_name=nowhere', ...FILTERS]) {
      const { list, sums } = await measure(page, query);
      isMet &&= median(list) < TARGETS.listMs && median(sums) < TARGETS.summaryMs;
      const name = query === 'env_name=nowhere' ? '*floor: nothing is let through*' : `\`${query}\``;
      console.log(`| ${name} | ${show(list)} | ${show(sums)} |`);
    }
    console.log(
      `target: a list in under ${TARGETS.listMs} ms, sums in under ${TARGETS.summaryMs} ms: ${isMet ? 'met' : 'NOT met'}`,
    );
  } finally {
    await browser.close();
    await site.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(page: Page, query: string): Promise<{ readonly list: number[]; readonly sums: number[] }> {
  const [list, sums]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    await goTo(page, 'env_name=counter&status=cancelled');
    const times = await goTo(page, query);
    list.push(times.listMs);
    sums.push(times.sumsMs);
  }
  return { list, sums };
}

/** As a click on a link, until rows and sums in the document are others. Both differ between what is asked for in turn. */
async function goTo(page: Page, query: string): Promise<{ readonly listMs: number; readonly sumsMs: number }> {
  return await page.evaluate(
    `new Promise((done, failed) => {
      const times = {};
      const startedAt = performance.now();
      const isOf = (selector) => ({ target, addedNodes, removedNodes }) =>
        (target.nodeType === 1 ? target : target.parentElement)?.closest(selector) != null ||
        [...addedNodes, ...removedNodes].some((node) => node.nodeType === 1 && (node.matches(selector) || node.querySelector(selector)));
      const observer = new MutationObserver((changes) => {
        if (changes.some(isOf('tbody'))) times.listMs ??= performance.now() - startedAt;
        if (changes.some(isOf('.run-totals'))) times.sumsMs ??= performance.now() - startedAt;
        if (times.listMs !== undefined && times.sumsMs !== undefined) end(() => done(times));
      });
      const end = (tell) => (observer.disconnect(), clearTimeout(limit), tell());
      const limit = setTimeout(() => end(() => failed(new Error('nothing changed: ' + JSON.stringify(times)))), ${LIMIT_MS});
      observer.observe(document.body, { subtree: true, childList: true, characterData: true });
      const link = document.createElement('a');
      link.href = location.pathname + ${JSON.stringify(`?${query}`)};
      document.querySelector('main').append(link);
      link.click();
      link.remove();
    })`,
  );
}

function show(times: readonly number[]): string {
  return `${median(times).toFixed(0)} / ${Math.max(...times).toFixed(0)}`;
}
