/**
 * @param address `postgres://user:password@host:5432/database`.
 * @returns what the driver is told: modes of TLS that it takes for the strictest one, and warns of, are that one.
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

/** An address as it may be shown. */
export function withoutPassword(url: URL): URL {
  const shown = new URL(url);
  shown.password = '';
  shown.searchParams.delete('password');
  return shown;
}
