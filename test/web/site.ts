import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { EventBody } from '../../src/contract/service/event.ts';
import type { RunServiceOptions } from '../../src/service/runs/start.ts';
import { createAccounts } from '../../src/store/accounts/database-accounts.ts';
import { createPages, type PagesOptions } from '../../src/web/pages.ts';
import { openParts, startService, type TestService, temporaryDirectory } from '../service/runs/service.ts';
import { newTrace } from '../store/traces/events.ts';
import { type Reply, type Send, send } from '../support/http/http-server.ts';

/** Who ends what was started. */
type OnEnd = (end: () => void | Promise<void>) => void;

export interface Site extends TestService {
  /** A request as a browser makes it: no key, and a cookie where one is given. */
  browse(path: string, options?: Send & { readonly cookie?: string }): Promise<Reply>;
  /** Sends the sign-in form as a browser does. */
  submitSignIn(fields: Readonly<Record<string, string>>, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  /** The cookie of a browser that is signed in for an account. */
  signIn(account?: string): Promise<string>;
  /** A trace of these events, attempt 1 of which is queued; gives its id. */
  addTrace(bodies: readonly EventBody[], trace?: ReturnType<typeof newTrace>): Promise<string>;
}

interface SiteOptions extends Pick<PagesOptions, 'ports'> {
  readonly now?: () => number;
  readonly service?: Partial<RunServiceOptions>;
}

/** The run service with its pages on a free port, a real database behind it, and no worker. */
export async function openSite(
  { now, service: options = {}, ports }: SiteOptions = {},
  onEnd: OnEnd = onTestFinished,
): Promise<Site> {
  const databaseUrl = `sqlite:${join(temporaryDirectory(onEnd), 'proctor.db')}`;
  const parts = await openParts(databaseUrl, onEnd);
  const accounts = now === undefined ? parts.accounts : createAccounts(parts.database, { now });
  const pages = createPages({ store: parts.store, accounts, database: parts.database, ...(ports && { ports }) });
  const service = await startService({ parts: { ...parts, accounts }, pages, worker: false, ...options }, onEnd);

  const browse: Site['browse'] = (path, { cookie, headers, ...other } = {}) =>
    send(service.url, path, { ...other, headers: { ...(cookie === undefined ? {} : { cookie }), ...headers } });
  const site: Site = {
    ...service,
    browse,
    submitSignIn: (fields, headers = {}) =>
      browse('/sign-in', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin: service.url, ...headers },
        body: new URLSearchParams(fields).toString(),
      }),
    async signIn(account = 'local') {
      const { session } = await accounts.createBrowserSession(account);
      return `proctor_session=${session}`;
    },
    async addTrace(bodies, trace = newTrace()) {
      await parts.store.create(trace);
      if (bodies.length > 0) await parts.store.append(trace.traceId, 1, bodies);
      return trace.traceId;
    },
  };
  return site;
}

/** The cookie that a reply sets, as a browser would send it back. */
export function cookieOf(reply: Reply): string {
  return String(reply.headers['set-cookie']?.[0]?.split(';')[0]);
}
