import { createHash, timingSafeEqual } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { messageOf } from '../../../contract/errors.ts';
import { withDeadline } from '../../../support/runtime/deadline.ts';
import { isPublicAddress, plainAddress } from './addresses.ts';
import { type AllowRule, canonicalHost, findRule, parseAllowList } from './allow-list.ts';

const LOOKUP_MS = 15_000;

/** A destination that a sandbox asked for and did not get. */
export interface Refusal {
  readonly host: string;
  readonly port: number;
  /** Words that continue "The destination …". */
  readonly reason: string;
}

export interface EgressRules {
  /** Destinations as the author wrote them. */
  readonly allow: readonly string[];
  readonly onRefused: (refusal: Refusal) => void;
  /** Looks up the addresses of a name. Default: the resolver of this machine. */
  readonly lookup?: (name: string) => Promise<readonly string[]>;
}

/** A destination that may be reached. */
export interface OpenDestination {
  /** The host in canonical form; a TLS client has to ask for it. */
  readonly host: string;
  readonly port: number;
  /** The address to connect to. The name is not looked up again, so that it cannot change in between. */
  readonly address: string;
}

/** Decides what a sandbox may reach, and tells what it refused. */
export class EgressGate {
  readonly #rules: readonly AllowRule[];
  readonly #options: EgressRules;
  readonly #authorization: Buffer;

  /** @throws TypeError for a destination that cannot be read. */
  constructor(options: EgressRules, credential: { readonly name: string; readonly password: string }) {
    this.#rules = parseAllowList(options.allow);
    this.#options = options;
    const pair = Buffer.from(`${credential.name}:${credential.password}`).toString('base64');
    this.#authorization = digest(`Basic ${pair}`);
  }

  hasCredential(authorization: string | undefined): boolean {
    return authorization !== undefined && timingSafeEqual(digest(authorization), this.#authorization);
  }

  /** Gives the address for a destination; undefined, and a refusal that was told, if it is not allowed. */
  async open(host: string, port: number): Promise<OpenDestination | undefined> {
    const name = canonicalHost(host);
    const rule = name === undefined ? undefined : findRule(this.#rules, name, port);
    if (name === undefined || rule === undefined) return this.refuse(host, port, 'is not on the allow list');
    if (isIP(name) !== 0) return { host: name, port, address: name };
    let addresses: readonly string[];
    try {
      const look = this.#options.lookup ?? resolve;
      addresses = (await withDeadline(() => look(name), { ms: LOOKUP_MS })).map(plainAddress);
    } catch (error) {
      return this.refuse(host, port, `has no address (${messageOf(error)})`);
    }
    const address = addresses.find((each) => isPublicAddress(each) || this.#isNamed(each, port));
    if (address !== undefined) return { host: name, port, address };
    const found = addresses.join(', ') || 'no address';
    return this.refuse(host, port, `leads to ${found}, which is not public and on no range of the allow list`);
  }

  /** Tells a refusal. It gives undefined, so that callers can return it. */
  refuse(host: string, port: number, reason: string): undefined {
    this.#options.onRefused({ host, port, reason });
    return undefined;
  }

  #isNamed(address: string, port: number): boolean {
    return findRule(this.#rules, address, port)?.isRange === true;
  }
}

async function resolve(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map((each) => each.address);
}

/** Digests have one length, so comparing them tells nothing about the secret. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
