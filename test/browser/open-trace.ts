import type { ConsoleMessage } from 'playwright-core';
import type { EventBody } from '../../src/contract/service/event.ts';
import type { NewTrace } from '../../src/store/traces/trace-store.ts';
import { newTrace } from '../store/traces/events.ts';
import { openSite, type Site } from '../web/site.ts';
import { QUEUED } from '../web/traces.ts';

/** What a page may never write to its console. */
export const isRefused = (message: ConsoleMessage) => /Security Policy|TrustedHTML|TrustedScript/.test(message.text());

/** An address that signs a browser in and leads to the trace of these events. */
export async function addTraceTo(
  site: Site,
  bodies: readonly EventBody[],
  queued: Partial<NewTrace['queued']> = QUEUED,
): Promise<string> {
  return await signedIn(site, `/traces/${await site.addTrace(bodies, newTrace(queued))}`);
}

export async function signedIn(site: Site, path: string): Promise<string> {
  return `${site.url}${path}?token=${await site.accounts.createSignInToken('local')}`;
}

/** A site with one trace, until the test ends. */
export async function openSiteWith(bodies: readonly EventBody[], queued?: Partial<NewTrace['queued']>) {
  const site = await openSite();
  return { site, address: await addTraceTo(site, bodies, queued) };
}
