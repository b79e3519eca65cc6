/**
 * Parses an address for the driver. The driver treats `prefer`, `require` and `verify-ca` as `verify-full` and warns of
 * them, so this sets `verify-full`.
 *
 * @param address `postgres://user:password@host:5432/database`.
 * @throws Error that does not show the address, which may hold a password.
 */
export function parsePostgresAddress(address: string): URL {
  if (!URL.canParse(address)) {
    throw new Error(
      'The address of the database on Postgres cannot be read: use postgres://user:password@host:5432/database (in the password, @ is written as %40)',
    );
  }
  const url = new URL(address);
  const mode = url.searchParams.get('sslmode');
  if (mode === 'prefer' || mode === 'require' || mode === 'verify-ca') url.searchParams.set('sslmode', 'verify-full');
  return url;
}

/** The address without its password, for messages. */
export function withoutPassword(url: URL): URL {
  const shown = new URL(url);
  shown.password = '';
  shown.searchParams.delete('password');
  return shown;
}
