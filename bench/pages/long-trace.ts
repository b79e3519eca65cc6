import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { newTrace } from '../../test/store/traces/events.ts';
import { longTrace } from '../../test/web/long-trace.ts';
import { median } from '../mcp/load.ts';
import { launchChromium, openSite } from './site.ts';

const STEPS = 2_000;
const ROUNDS = 7;
const FRAMES = 300;
const APPENDED_AT_ONCE = 500;
const SETTLING_MS = 1_200;
const TARGETS = { readableMs: 1_000, frameMs: 50 } as const;

/** How the page is moved in each frame: as by a wheel, as fast as one can, and to other places. */
const WAYS = [
  ['as by a wheel', 'scrollBy(0, 120)'],
  ['as fast as one can', 'scrollBy(0, 900)'],
  ['jumping', 'n % 30 === 0 && scrollTo(0, (((n * 7919) % 1000) / 1000) * document.documentElement.scrollHeight)'],
] as const;

/**
 * A trace of 2,000 steps and 18 MB in Chromium: until its first step can be read, and what it costs to scroll. The floor is
 * the page of the same server that shows next to nothing. A frame is judged by the processor time of the longest task of
 * the page: on a machine with other things to do the clock tells of those.
 */
export async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-bench-'));
  const site = await openLongTrace(join(folder, 'proctor.db'));
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: { width: 1_440, height: 900 } });
    await page.goto(`${site.url}/?token=${site.token}`);
    console.log(`A trace of ${STEPS} steps and ${site.megabytes.toFixed(0)} MB in Chromium ${browser.version()}`);
    await measureOpening(page, site);
    await measureScrolling(browser, page, join(folder, 'tasks.json'));
  } finally {
    await browser.close();
    await site.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function openLongTrace(file: string) {
  const database = await openDatabase(`sqlite:${file}`);
  const site = await openSite(database);
  const trace = newTrace();
  await site.store.create(trace);
  const bodies = longTrace(STEPS);
  for (let from = 0; from < bodies.length; from += APPENDED_AT_ONCE) {
    await site.store.append(trace.traceId, 1, bodies.slice(from, from + APPENDED_AT_ONCE));
  }
  return { ...site, traceId: trace.traceId, megabytes: JSON.stringify(bodies).length / 1e6 };
}

async function measureOpening(page: Page, site: { readonly url: string; readonly traceId: string }): Promise<void> {
  const [floor, readable, whole]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < ROUNDS; round++) {
    let startedAt = performance.now();
    await page.goto(`${site.url}/environments`, { waitUntil: 'commit' });
    await page.locator('h1').waitFor();
    floor.push(performance.now() - startedAt);
    startedAt = performance.now();
    await page.goto(`${site.url}/traces/${site.traceId}`, { waitUntil: 'commit' });
    await page.locator('#step-1 .call').first().waitFor();
    readable.push(performance.now() - startedAt);
    await page.locator(`#step-${STEPS}`).waitFor({ state: 'attached' });
    whole.push(performance.now() - startedAt);
  }
  console.log('an empty page | first step readable | all of it read (ms, medians)');
  console.log([floor, readable, whole].map((each) => median(each).toFixed(0)).join(' | '));
  const isMet = median(readable) < TARGETS.readableMs;
  console.log(`target: readable in under ${TARGETS.readableMs} ms: ${isMet ? 'met' : 'NOT met'}`);
}

async function measureScrolling(browser: Browser, page: Page, file: string): Promise<void> {
  let worst = 0;
  for (const [name, move] of WAYS) {
    await page.evaluate('scrollTo(0, 0)');
    await page.waitForTimeout(SETTLING_MS);
    await browser.startTracing(page, { path: file, categories: ['toplevel', 'devtools.timeline'] });
    await page.evaluate(`new Promise((done) => {
      let n = 0;
      const next = () => { ${move}; if (++n < ${FRAMES}) requestAnimationFrame(next); else done(); };
      next();
    })`);
    await browser.stopTracing();
    const longest = longestTaskMs(await readFile(file, 'utf8'));
    worst = Math.max(worst, longest);
    console.log(`scrolled ${FRAMES} frames ${name}: the longest task took ${longest.toFixed(0)} ms of processor`);
  }
  console.log(`target: no frame over ${TARGETS.frameMs} ms: ${worst < TARGETS.frameMs ? 'met' : 'NOT met'}`);
}

interface TracedEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly args: { readonly name?: string };
  /** Microseconds of processor time. */
  readonly tdur?: number;
}

/** Of the main threads of pages. */
function longestTaskMs(text: string): number {
  const { traceEvents } = JSON.parse(text) as { readonly traceEvents: readonly TracedEvent[] };
  const threadOf = ({ pid, tid }: TracedEvent) => `${pid}:${tid}`;
  const named = traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
  const mains = new Set(named.map(threadOf));
  const tasks = traceEvents.filter((event) => event.name.endsWith('RunTask') && mains.has(threadOf(event)));
  return Math.max(0, ...tasks.map(({ tdur = 0 }) => tdur / 1_000));
}
