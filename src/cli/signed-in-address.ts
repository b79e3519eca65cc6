import type { Installation } from './installation.ts';

/** An address of the pages with a one-time token for the account `local` (contract section 4). */
export async function signedInAddress(installation: Installation, traceId?: string): Promise<string> {
  const token = await installation.accounts.createSignInToken('local');
  const address = new URL(traceId === undefined ? '/' : `/traces/${traceId}`, installation.settings.appUrl);
  address.searchParams.set('token', token);
  return address.href;
}
