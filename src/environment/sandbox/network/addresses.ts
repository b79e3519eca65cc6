import { BlockList, isIP, SocketAddress } from 'node:net';

/** Addresses that are not of the public internet (IANA special-purpose registries, 2026). */
const SPECIAL_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
];
/** The ranges that stand for IPv4 addresses (64:ff9b::/96, 2002::/16, 2001::/32) are among them: they lead to private ones. */
const SPECIAL_IPV6 = [
  ...['::/96', '::1/128', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001::/23', '2001:db8::/32', '2002::/16'],
  ...['3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
];

const special = new BlockList();
for (const [ranges, family] of [
  [SPECIAL_IPV4, 'ipv4'],
  [SPECIAL_IPV6, 'ipv6'],
] as const) {
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    special.addSubnet(address, Number(bits), family);
  }
}

/** True for an address of the public internet. False for private, local, metadata and reserved ones, and for other text. */
export function isPublicAddress(address: string): boolean {
  const plain = plainAddress(address);
  const version = isIP(plain);
  return version !== 0 && !special.check(plain, version === 4 ? 'ipv4' : 'ipv6');
}

/** An address in its shortest form. An IPv4 address inside an IPv6 one (`::ffff:10.0.0.1`) is given as IPv4. */
export function plainAddress(address: string): string {
  const [bare = ''] = address.split('%');
  if (isIP(bare) !== 6) return bare;
  const short = new SocketAddress({ address: bare, family: 'ipv6' }).address;
  const mapped = /^::ffff:(?:(\d+\.\d+\.\d+\.\d+)|([0-9a-f]{1,4}):([0-9a-f]{1,4}))$/i.exec(short);
  if (mapped === null) return short;
  if (mapped[1] !== undefined) return mapped[1];
  const [high, low] = [Number.parseInt(mapped[2] ?? '', 16), Number.parseInt(mapped[3] ?? '', 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
