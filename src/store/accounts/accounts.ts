import type { CreatedApiKey } from '../../contract/service/run.ts';
import type { Caller } from '../../support/http/api/route.ts';

/** Keys and sign-ins of one installation. Secrets are stored hashed. Each is shown once, when it is created. */
export interface Accounts extends ApiKeys, SignIns {}

export interface ApiKeys {
  createKey(key: NewApiKey): Promise<CreatedApiKey>;
  listKeys(): Promise<readonly ApiKeyEntry[]>;
  /**
   * Revokes a key by its id, else by its name. Every process refuses it within 5 s. @returns the key, or undefined for
   * an unknown one.
   */
  revokeKey(nameOrId: string): Promise<ApiKeyEntry | undefined>;
  /** The caller of a key; undefined for an unknown or revoked key. Answers may be up to 5 s old. */
  verifyKey(key: string): Promise<Caller | undefined>;
  /** False once the key is revoked. Work that outlasts a request asks this again. */
  isKeyInForce(id: string): Promise<boolean>;
  /** True while at least one key is in force. Names in `except` do not count. */
  hasKeys(options?: { readonly except?: readonly string[] }): Promise<boolean>;
}

export interface SignIns {
  /** Creates a token for one sign-in, valid for 15 minutes. */
  createSignInToken(account: string): Promise<string>;
  /**
   * Spends the token. @returns a new browser session (30 days), or undefined for a token that is unknown, spent or too
   * old.
   */
  redeemSignInToken(token: string): Promise<BrowserSession | undefined>;
  createBrowserSession(account: string): Promise<BrowserSession>;
  verifyBrowserSession(session: string): Promise<{ readonly account: string } | undefined>;
  /** Removes the sign-in tokens and the browser sessions of an account. */
  removeSignIns(account: string): Promise<void>;
}

export interface NewApiKey {
  readonly name: string;
  /** Default `local`. */
  readonly account?: string;
  readonly requestsPerMinute?: number;
  readonly concurrentRuns?: number;
}

export interface ApiKeyEntry {
  readonly id: string;
  readonly name: string;
  readonly account: string;
  readonly requestsPerMinute: number | null;
  readonly concurrentRuns: number | null;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly revokedAt: string | null;
}

export interface BrowserSession {
  /** The value of the cookie. */
  readonly session: string;
  readonly account: string;
  readonly expiresAt: Date;
}
