import { BlockList, isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { preview } from '../../../support/schema/json-schema.ts';
import { plainAddress } from './addresses.ts';

/** Ports of a destination that names none. */
const WEB_PORTS: readonly number[] = [80, 443];
const MAX_PORT = 65_535;
const LABELS = /^(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;
const WAY_OUT =
  'Name a host ("example.org"), its subdomains ("*.example.org"), an address or a range ("10.0.0.0/8"), each with ":port" if it is not 80 or 443';

/** One destination of an allow list. */
export interface AllowRule {
  /** The text that the author wrote. */
  readonly text: string;
  readonly ports: readonly number[];
  /** True for a range: only then may an address be reached that is not public. */
  readonly isRange: boolean;
  matches(host: string): boolean;
}

/** True for a destination that an allow list may have. */
export function isDestination(text: unknown): text is string {
  return typeof text === 'string' && parseRule(text) !== undefined;
}

/** @throws TypeError that names the destination that cannot be read. */
export function parseAllowList(texts: readonly string[]): readonly AllowRule[] {
  return texts.map((text) => {
    const rule = typeof text === 'string' ? parseRule(text) : undefined;
    if (rule === undefined) throw new TypeError(`network.allow has ${preview(text)}. ${WAY_OUT}`);
    return rule;
  });
}

/** The first rule for this host and port. Hosts are compared without regard to case and to a dot at the end. */
export function findRule(rules: readonly AllowRule[], host: string, port: number): AllowRule | undefined {
  const name = canonicalHost(host);
  return name === undefined ? undefined : rules.find((rule) => rule.ports.includes(port) && rule.matches(name));
}

/** A host in the form that rules compare; undefined if it is neither a name nor an address. */
export function canonicalHost(host: string): string | undefined {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) !== 0) return plainAddress(bare);
  const name = domainToASCII(bare.replace(/\.$/, '')).toLowerCase();
  // Some texts are numbers to a resolver, such as 0x7f.1: they are not what they seem to be.
  return LABELS.test(name) && isIP(name) === 0 ? name : undefined;
}

function parseRule(text: string): AllowRule | undefined {
  const { host, port } = splitPort(text.trim());
  const ports = port === undefined ? WEB_PORTS : [port];
  if (ports.some((each) => !Number.isInteger(each) || each < 1 || each > MAX_PORT)) return undefined;
  const range = toRange(host);
  if (range !== undefined) {
    const matches = (name: string) => isIP(name) !== 0 && range.check(name, isIP(name) === 6 ? 'ipv6' : 'ipv4');
    return { text, ports, isRange: true, matches };
  }
  const isWildcard = host.startsWith('*.');
  const name = canonicalHost(isWildcard ? host.slice(2) : host);
  // Digits and dots alone are an address that some resolvers read and that is none here, such as 10.1.
  if (name === undefined || /^[\d.]+$/.test(name)) return undefined;
  const matches = (other: string) => (isWildcard ? other.endsWith(`.${name}`) : other === name);
  return { text, ports, isRange: false, matches };
}

/** An IPv6 address has its port behind brackets, since its own text has colons. */
function splitPort(text: string): { readonly host: string; readonly port: number | undefined } {
  const bracketed = /^\[([^\]]+)\](\/\d+)?(?::(\d+))?$/.exec(text);
  if (bracketed !== null) {
    return {
      host: `${bracketed[1]}${bracketed[2] ?? ''}`,
      port: bracketed[3] === undefined ? undefined : Number(bracketed[3]),
    };
  }
  const parts = /^([^:]+):(\d+)$/.exec(text);
  return parts === null ? { host: text, port: undefined } : { host: parts[1] ?? '', port: Number(parts[2]) };
}

function toRange(text: string): BlockList | undefined {
  const [address = '', prefix, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return undefined;
  const longest = version === 4 ? 32 : 128;
  const bits = prefix === undefined ? longest : /^\d+$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (!(bits >= 0 && bits <= longest)) return undefined;
  const list = new BlockList();
  list.addSubnet(address, bits, version === 4 ? 'ipv4' : 'ipv6');
  return list;
}
