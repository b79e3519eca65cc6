import { createHash, timingSafeEqual } from 'node:crypto';
import { META } from '../../contract/names.ts';
import type { Audience } from '../authoring/definition.ts';

/** The conditions under which a peer of this transport counts as a harness. */
export interface HarnessAuthority {
  readonly harnessKey: string | undefined;
  /** True if only the parent can hold the other end (stdio, memory). Without a key, its declaration is enough then. */
  readonly isPeerTrusted: boolean;
}

export type Meta = Readonly<Record<string, unknown>>;

/** True if `_meta` declares a harness and contains the proof. With a wrong key, the peer counts as an agent. */
export function isHarness(meta: Meta | undefined, authority: HarnessAuthority): boolean {
  return meta?.[META.audience] === 'harness' && holdsAuthority(meta, authority);
}

/** The sender of one request, and its `_meta` without secrets. */
export interface Sender {
  readonly audience: Audience;
  /** True if the peer may see the harness's information, even if this request names another audience. */
  readonly isHarnessPeer: boolean;
  /** `_meta` as author code may see it. */
  readonly meta: Meta;
}

/**
 * Decides who sends a request. On a connection with sessions, the handshake decides, and a request can only choose the
 * audience `agent`. On MCP 2026-07-28 (`isHarnessConnection` is undefined) each request proves its own audience.
 */
export function identifySender(
  meta: Meta | undefined,
  authority: HarnessAuthority,
  isHarnessConnection: boolean | undefined,
): Sender {
  const isKeyShown = isHarnessConnection === undefined && holdsAuthority(meta, authority);
  const isDeclared = meta?.[META.audience] === 'harness';
  const isHarness = isHarnessConnection === true ? meta?.[META.audience] !== 'agent' : isKeyShown && isDeclared;
  // Without a key there is no proof besides the declaration of a trusted peer.
  const isHarnessPeer = isHarnessConnection ?? (authority.harnessKey === undefined ? isHarness : isKeyShown);
  return { audience: isHarness ? 'harness' : 'agent', isHarnessPeer, meta: withoutHarnessKey(meta) };
}

/** True if this audience may see and use the thing: everyone sees the agent's things, only the harness sees its own. */
export function isVisible(thing: { readonly audience: Audience }, audience: Audience): boolean {
  return thing.audience === 'agent' || audience === 'harness';
}

/**
 * `_meta` as author code, logs and traces may see it: without the key, and without the session id, which would allow
 * tool calls that the harness does not know of.
 */
export function withoutHarnessKey(meta: Meta | undefined): Meta {
  if (meta === undefined) return {};
  const { [META.harnessKey]: _key, [META.sessionId]: _handle, [META.paramHeaders]: _headers, ...rest } = meta;
  return rest;
}

/** A text for logs. Harness keys in quoted messages are removed. */
export function withoutQuotedKeys(text: string): string {
  return text.replace(QUOTED_KEY, `"${META.harnessKey}":"…"`);
}

/** Compares two secrets in constant time, so that the duration does not reveal where or in what length they differ. */
export function isSameSecret(shown: string, secret: string): boolean {
  return timingSafeEqual(digest(shown), digest(secret));
}

const QUOTED_KEY = new RegExp(`"${META.harnessKey}":"(?:[^"\\\\]|\\\\.)*"?`, 'g');

function holdsAuthority(meta: Meta | undefined, authority: HarnessAuthority): boolean {
  if (authority.harnessKey === undefined) return authority.isPeerTrusted;
  const shown = meta?.[META.harnessKey];
  return typeof shown === 'string' && isSameSecret(shown, authority.harnessKey);
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
