import type { Installation } from './installation.ts';

export interface PageAddress {
  /** Path of the page; the runs page by default. */
  readonly path?: string | undefined;
  /** Where the pages are, without a slash at the end. Default: where the installation says. */
  readonly at?: string;
}

/** An address of the pages with a one-time token for the account `local` (contract section 4). */
export async function signedInAddress(installation: Installation, page: PageAddress = {}): Promise<string> {
  const { path = '/', at = installation.settings.appUrl } = page;
  const token = await installation.accounts.createSignInToken('local');
  const address = new URL(path, at);
  address.searchParams.set('token', token);
  return address.href;
}
