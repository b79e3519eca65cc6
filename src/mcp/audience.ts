import { createHash, timingSafeEqual } from 'node:crypto';
import { META } from '../contract/names.ts';
import type { Audience } from '../environment/definition.ts';

/** How a peer of this transport proves that it is a harness. */
export interface HarnessAuthority {
  readonly harnessKey: string | undefined;
  /** True where only the parent can hold the other end (stdio, memory): without a key, its word is enough. */
  readonly isPeerTrusted: boolean;
}

export type Meta = Readonly<Record<string, unknown>>;

/** True when `_meta` declares a harness and shows what the declaration needs. A wrong key makes an agent. */
export function isHarness(meta: Meta | undefined, authority: HarnessAuthority): boolean {
  return meta?.[META.audience] === 'harness' && holdsAuthority(meta, authority);
}

/** The sender of one request, and its `_meta` without anything secret. */
export interface Sender {
  readonly audience: Audience;
  /** The peer may be told what a harness may know, whatever audience this request asks for. */
  readonly isHarnessPeer: boolean;
  /** As author code may see it. */
  readonly meta: Meta;
}

/**
 * Tells who sends a request. On a session-based connection the connection decides, and a request can only step down; on
 * 2026-07-28 (`isHarnessConnection` undefined) each request speaks for itself.
 */
export function identifySender(
  meta: Meta | undefined,
  authority: HarnessAuthority,
  isHarnessConnection: boolean | undefined,
): Sender {
  const isKeyShown = isHarnessConnection === undefined && holdsAuthority(meta, authority);
  const isDeclared = meta?.[META.audience] === 'harness';
  const isHarness = isHarnessConnection === true ? meta?.[META.audience] !== 'agent' : isKeyShown && isDeclared;
  // Without a key the word of a trusted peer is all that there is.
  const isHarnessPeer = isHarnessConnection ?? (authority.harnessKey === undefined ? isHarness : isKeyShown);
  return { audience: isHarness ? 'harness' : 'agent', isHarnessPeer, meta: withoutHarnessKey(meta) };
}

/** True for what this audience may see and use: the agent's things for everybody, the harness's for the harness. */
export function isVisible(thing: { readonly audience: Audience }, audience: Audience): boolean {
  return thing.audience === 'agent' || audience === 'harness';
}

/**
 * `_meta` as author code, logs and traces may see it: without the key, and without the name of the session, by which
 * whoever is told it could call tools there that no harness knows of.
 */
export function withoutHarnessKey(meta: Meta | undefined): Meta {
  if (meta === undefined) return {};
  const { [META.harnessKey]: _key, [META.sessionId]: _handle, [META.paramHeaders]: _headers, ...rest } = meta;
  return rest;
}

/** A text that may quote a message, as logs may have it. */
export function withoutQuotedKeys(text: string): string {
  return text.replace(QUOTED_KEY, `"${META.harnessKey}":"…"`);
}

/** Compares two secrets in a time that tells nothing of where, or in what length, they differ. */
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
