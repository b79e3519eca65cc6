import { LOCAL_ACCOUNT } from '../../contract/names.ts';
import type { Installation } from '../../service/runs/installation.ts';
import { newId } from '../../support/runtime/new-id.ts';

export interface PageAddress {
  /** Path of the page; the runs page by default. */
  readonly path?: string | undefined;
  /** Address of the pages, without a slash at the end. Default: the one of the installation. */
  readonly at?: string;
}

/**
 * Tests whether the server at an address uses this database: it signs in with a one-time token. The token is of an
 * account that owns nothing and that ends with the test, so that a program that reads it gains nothing. A server that
 * does not answer in time counts as using the database.
 */
export async function hasSameDatabase({ accounts }: Pick<Installation, 'accounts'>, at: string): Promise<boolean> {
  const account = `probe_${newId()}`;
  const address = new URL('/sign-in', at);
  address.searchParams.set('token', await accounts.createSignInToken(account));
  try {
    const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
    const { status, body } = await fetch(address, { redirect: 'manual', signal });
    await body?.cancel();
    return status !== 401;
  } catch {
    return true;
  } finally {
    await accounts.removeSignIns(account);
  }
}

const ANSWER_LIMIT_MS = 6_000;

/** An address of the pages with a one-time token for the account `local` (contract section 4). */
export async function signedInAddress(installation: Installation, page: PageAddress = {}): Promise<string> {
  const { path = '/', at = installation.settings.appUrl } = page;
  const token = await installation.accounts.createSignInToken(LOCAL_ACCOUNT);
  const address = new URL(path, at);
  address.searchParams.set('token', token);
  return address.href;
}
