import { CLIENT_INFO_META_KEY, type InitializeRequest, type ServerContext } from '@modelcontextprotocol/server';
import { META } from '../../../contract/names.ts';
import type { ClientOffer, Session } from '../../authoring/definition.ts';
import { type HarnessAuthority, isHarness } from '../audience.ts';
import type { Report } from '../cleanup.ts';
import type { Era } from '../session-host.ts';
import { MODERN_REVISION, negotiatedRevision, SESSION_REVISIONS, type SessionServer } from './session-server.ts';

export interface PeerParts {
  readonly id: string;
  readonly era: Era;
  readonly server: SessionServer;
  readonly authority: HarnessAuthority;
  readonly report: Report;
}

/** The client of a session and the information known about it. */
export class SessionPeer {
  readonly server: SessionServer;
  readonly authority: HarnessAuthority;
  readonly report: Report;
  /** The session as author code sees it. */
  readonly session: { readonly id: string; protocol: string; client: Session['client'] };
  /** Undefined on MCP 2026-07-28, where each request declares its own audience. */
  isHarnessConnection: boolean | undefined;
  /** Capabilities from the client's handshake. On MCP 2026-07-28 each request contains them. */
  offer: ClientOffer = { elicitation: false, sampling: false, roots: false };
  /** The seed that a harness has given the session. */
  seed = 0;
  /** Number of environments before this one in the chain of connections. */
  connectionDepth = 0;

  constructor({ id, era, server, authority, report }: PeerParts) {
    this.server = server;
    this.authority = authority;
    this.report = report;
    this.session = { id, protocol: era === 'modern' ? MODERN_REVISION : SESSION_REVISIONS[0], client: undefined };
    this.isHarnessConnection = era === 'modern' ? undefined : false;
  }

  /** Stores the client's information from `initialize`. */
  introduce(
    { protocolVersion, clientInfo, capabilities }: InitializeRequest['params'],
    { mcpReq }: ServerContext,
  ): void {
    const { elicitation, sampling, roots } = capabilities;
    this.session.protocol = negotiatedRevision(protocolVersion);
    this.session.client = clientInfo;
    this.offer = {
      elicitation: elicitation !== undefined,
      sampling: sampling !== undefined,
      roots: roots !== undefined,
    };
    this.isHarnessConnection = isHarness(mcpReq._meta, this.authority);
    if (this.isHarnessConnection) this.takeSeed(mcpReq._meta);
    // The peer sends the depth. A negative number would defeat the limit.
    const depth = mcpReq._meta?.[META.connectionDepth];
    if (typeof depth === 'number') this.connectionDepth = Math.max(0, depth);
  }

  /** Stores the seed that a harness sent. 0 if it is missing or not an integer. */
  takeSeed(meta: Readonly<Record<string, unknown>> | undefined): void {
    const seed = meta?.[META.seed];
    this.seed = typeof seed === 'number' && Number.isSafeInteger(seed) ? seed : 0;
  }

  /** Stores the client's information from a request of MCP 2026-07-28. The first one with a value is kept. */
  introduceByRequest({ mcpReq }: ServerContext): void {
    const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
    this.session.client ??= envelope[CLIENT_INFO_META_KEY] as Session['client'];
  }
}
