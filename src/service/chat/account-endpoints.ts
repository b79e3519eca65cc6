import type { MountedEndpoint } from '../../environment/server/http/mounted-endpoint.ts';

/**
 * The `/mcp` endpoint of each account, created at its first request. Its tools reach only the sessions of that
 * account.
 */
export class AccountEndpoints {
  readonly #mount: (account: string) => MountedEndpoint;
  readonly #endpoints = new Map<string, MountedEndpoint>();

  constructor(mount: (account: string) => MountedEndpoint) {
    this.#mount = mount;
  }

  of(account: string): MountedEndpoint {
    const known = this.#endpoints.get(account);
    if (known !== undefined) return known;
    const endpoint = this.#mount(account);
    this.#endpoints.set(account, endpoint);
    return endpoint;
  }

  /** Ends every session within the budget (milliseconds). Never rejects. */
  async close(budgetMs: number): Promise<void> {
    await Promise.all([...this.#endpoints.values()].map((endpoint) => endpoint.close(budgetMs)));
  }
}
