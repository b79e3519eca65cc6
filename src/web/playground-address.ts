/** Where the two servers of one process listen. */
export interface ServerPorts {
  readonly pages: number;
  readonly playground: number;
}

/**
 * Where a browser that asks for the pages under this `Host` finds the playground: at the same name, on the other port.
 * Undefined where it came by another port than the server's own, as through a proxy: nobody knows the way from there.
 */
export function playgroundAddress(host: string | undefined, ports: ServerPorts | undefined): string | undefined {
  const [, name, port] = /^(.+):(\d+)$/.exec(host ?? '') ?? [];
  if (ports === undefined || name === undefined || Number(port) !== ports.pages) return undefined;
  return `http://${name}:${ports.playground}/`;
}
