/** An address that is safe to print: without user, password and query. */
export function shownAddress(address: string): string {
  if (address.startsWith('sqlite:')) return address;
  if (!URL.canParse(address)) return `${address.split(':')[0]}:…`;
  const { protocol, host, pathname } = new URL(address);
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
}
